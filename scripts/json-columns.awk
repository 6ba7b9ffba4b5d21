# SPDX-License-Identifier: MIT
# json-columns.awk: named values of flat JSON objects, one object a line, as columns between tabs; "-" for what is not
# there. Run as awk -v keys="problem stage seconds" -f json-columns.awk FILE. Enough for what `sparc bench --json`
# writes, whose strings hold no quotes.
BEGIN { count = split(keys, key, " ") }
{
  line = ""
  for (i = 1; i <= count; i++) {
    value = "-"
    if (match($0, "\"" key[i] "\":\"[^\"]*\""))
      value = substr($0, RSTART + length(key[i]) + 4, RLENGTH - length(key[i]) - 5)
    else if (match($0, "\"" key[i] "\":[^],}\"[]+"))
      value = substr($0, RSTART + length(key[i]) + 3, RLENGTH - length(key[i]) - 3)
    line = line (i > 1 ? "\t" : "") (value == "null" ? "-" : value)
  }
  print line
}
