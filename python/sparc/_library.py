# SPDX-License-Identifier: MIT
"""libsparc through ctypes: where it is, the structures of its headers, and how its calls fail.

Structures mirror include/sparc/*.h member by member; tests/python/test_layout.py holds their sizes and offsets against
the C compiler's.
"""
import ctypes
import ctypes.util
import operator
import os
import signal
import sys
import threading
import weakref
from ctypes import (CFUNCTYPE, POINTER, Structure, c_char, c_char_p, c_double, c_float, c_int, c_long, c_size_t, c_uint32,
                    c_uint64, c_void_p)
from pathlib import Path

import numpy as np


class Error(Exception):
    """Error of the library. The text is its message; `status` is 'invalid', 'format', 'io', ..."""

    def __init__(self, status, sentence):
        super().__init__(sentence)
        self.status = status


class sparc_cell_config(Structure):
    _fields_ = [("kind", c_char_p), ("D", c_int), ("H", c_int), ("options", c_char_p), ("kernel", c_char_p)]


class sparc_cell_sizes(Structure):
    _fields_ = [(name, c_size_t) for name in ("params", "prepared", "state", "output", "tape", "trace")]


class sparc_block(Structure):
    _fields_ = [("name", c_char_p), ("rank", c_int), ("shape", c_int * 2), ("offset", c_size_t), ("size", c_size_t),
                ("trace", c_size_t)]


class sparc_plan_config(Structure):
    _fields_ = [("threads", c_int), ("chunk", c_int)]


class sparc_plan_sizes(Structure):
    _fields_ = [("saved", c_size_t), ("work", c_size_t)]


class sparc_sequence(Structure):
    _fields_ = [(name, c_void_p) for name in ("x", "mask", "state0", "y", "state_last")]


class sparc_sequence_gradient(Structure):
    _fields_ = [(name, c_void_p) for name in ("dy", "dstate_last", "dx", "dstate0", "dparams")]


class sparc_head_config(Structure):
    _fields_ = [("name", c_char_p), ("input", c_int), ("outputs", c_int), ("hidden", c_int), ("hidden_gain", c_double),
                ("gain", c_double), ("kind", c_int), ("tied", c_int)]


class sparc_network_config(Structure):
    _fields_ = [("cell", c_char_p), ("cell_options", c_char_p), ("kernel", c_char_p), ("H", c_int), ("inputs", c_int),
                ("embedding", c_int), ("width", c_int), ("layers", c_int), ("features", c_int), ("dropout", c_double),
                ("head", POINTER(sparc_head_config)), ("heads", c_int), ("init", c_int), ("symbols", c_int),
                ("layer", c_void_p), ("kinds", c_void_p)]


class sparc_learner_config(Structure):
    _fields_ = [("network", sparc_network_config), ("objective", c_int), ("outputs", c_int), ("hidden", c_int),
                ("horizon", c_int), ("seed", c_uint64), ("learning_rate", c_double), ("recurrent_lr_scale", c_double),
                ("weight_decay", c_double), ("max_gradient_norm", c_double), ("update_every", c_int),
                ("encoder", c_int), ("normalise", c_int), ("normaliser_window", c_double), ("forecaster", c_int),
                ("more_horizons", c_int * 7), ("coverage", c_double)]


class sparc_learner_info(Structure):
    _fields_ = [("config", POINTER(sparc_learner_config)), ("network", c_void_p), ("params", POINTER(c_float)),
                ("param_count", c_size_t)]


class sparc_learner_report(Structure):
    _fields_ = [("steps", c_long), ("targets", c_long), ("updates", c_long), ("scored", c_int), ("loss", c_double),
                ("baseline", c_double), ("correct", c_int), ("gradient_norm", c_double), ("last_target", c_double)]


class sparc_forecast_score(Structure):
    _fields_ = [("channels", c_int), ("loss", c_double), ("persistence", c_double), ("seasonal_naive", c_double),
                ("intervals", c_int), ("covered", c_int)]


class sparc_columns(Structure):
    _fields_ = [("channels", c_int), ("channel", POINTER(c_char_p)), ("ignored", c_int), ("ignore", POINTER(c_char_p)),
                ("label", c_char_p), ("id", c_char_p), ("time", c_char_p), ("steps", c_int), ("values", c_int),
                ("value", POINTER(c_char_p))]


class sparc_preprocessing(Structure):
    _fields_ = [("channels", c_int), ("mean", POINTER(c_double)), ("stddev", POINTER(c_double)), ("classes", c_int),
                ("labels", POINTER(c_char_p)), ("targets", c_int), ("target_mean", POINTER(c_double)),
                ("target_stddev", POINTER(c_double)), ("change", c_int), ("data", c_char_p),
                ("columns", POINTER(sparc_columns))]


class sparc_model_info(Structure):
    _fields_ = [("inputs", c_int), ("outputs", c_int), ("state_size", c_size_t), ("parameters", c_size_t),
                ("preprocessing", POINTER(sparc_preprocessing)), ("network", c_void_p)]


class sparc_samples(Structure):
    _fields_ = [("count", c_int), ("channels", c_int), ("longest", c_int), ("source", c_void_p), ("at", c_void_p),
                ("targets", c_int), ("target_steps", c_int), ("target_mean", c_void_p), ("target_stddev", c_void_p)]


class sparc_read_options(Structure):
    _fields_ = [("format", c_int), ("objective", c_int), ("horizon", c_int), ("context", c_int), ("unlabelled", c_int),
                ("label_column", c_char_p), ("ignore_columns", c_char_p), ("id_column", c_char_p),
                ("time_column", c_char_p), ("channels", c_int), ("decimal", c_char_p), ("header", c_int),
                ("labels_path", c_char_p), ("labels_data", c_void_p), ("labels_size", c_size_t),
                ("series_array", c_char_p), ("labels_array", c_char_p), ("classes", POINTER(c_char_p)),
                ("class_count", c_int), ("max_bytes", c_size_t), ("max_rows", c_long), ("validation", c_double),
                ("folds", c_int), ("fold", c_int), ("columns", POINTER(sparc_columns)), ("division", c_int),
                ("whole_rows", c_int), ("texts", c_int)]


class sparc_network_sizes(Structure):
    _fields_ = [(name, c_size_t) for name in ("params", "prepared", "state", "outputs", "tape", "trace", "trace_exact")]


class sparc_dropout(Structure):
    _fields_ = [("seed", c_uint64), ("update", c_uint64)]


class sparc_network_sequence(Structure):
    _fields_ = [(name, c_void_p) for name in ("x", "mask", "state0", "lengths", "dropout", "outputs", "state_last")]


class sparc_network_gradient(Structure):
    _fields_ = [(name, c_void_p) for name in ("doutputs", "dstate_last", "dx", "dstate0", "dparams")]


class sparc_evaluation(Structure):
    _fields_ = [("examples", c_long), ("loss", c_double), ("accuracy", c_double), ("nmse", c_double), ("mse", c_double),
                ("r2", c_double)]


class sparc_arrays(Structure):
    _fields_ = [("count", c_int), ("channels", c_int), ("x", c_void_p), ("lengths", c_void_p), ("labels", c_void_p),
                ("target", c_void_p), ("targets", c_int), ("target_steps", c_int), ("classes", c_int),
                ("class_names", c_void_p), ("label_names", c_void_p)]


class sparc_sample(Structure):
    _fields_ = [("x", POINTER(c_float)), ("length", c_int), ("label", c_int), ("target", POINTER(c_float)),
                ("labels", c_void_p), ("context", c_int), ("id", c_char_p)]


class sparc_dataset_info(Structure):
    _fields_ = [("name", c_char_p), ("count", c_int), ("channels", c_int), ("shortest", c_int), ("longest", c_int),
                ("missing", c_size_t), ("classes", c_int), ("class_names", POINTER(c_char_p)), ("targets", c_int),
                ("target_steps", c_int), ("columns", POINTER(sparc_columns))]


class sparc_data_options(Structure):
    _fields_ = [("root", c_char_p), ("protocol", c_int), ("read", sparc_read_options)]


class sparc_data_split(Structure):
    _fields_ = [("fit", c_void_p), ("validation", c_void_p), ("test", c_void_p), ("name", c_char * 128),
                ("protocol", c_char * 256), ("warning", c_char * 256),
                ("paper_difference", c_char * 256)]


class sparc_train_config(Structure):
    _fields_ = [("network", sparc_network_config), ("seed", c_uint64), ("batch", c_int), ("updates", c_long),
                ("warmup", c_long), ("cosine", c_int), ("learning_rate", c_double), ("min_learning_rate", c_double),
                ("recurrent_lr_scale", c_double), ("weight_decay", c_double), ("max_gradient_norm", c_double),
                ("threads", c_int), ("class_weights", c_int), ("label_smoothing", c_double), ("jitter", c_double), ("scaling", c_double),
                ("crop", c_double), ("ema_decay", c_double),
                ("readout", c_int), ("shards", c_int)]


class sparc_update_report(Structure):
    _fields_ = [("update", c_long), ("loss", c_double), ("accuracy", c_double), ("gradient_norm", c_double),
                ("learning_rate", c_double)]


class sparc_run_config(Structure):
    _fields_ = [("data", c_char_p), ("root", c_char_p), ("read", sparc_read_options), ("official", c_int),
                ("train", sparc_train_config), ("variant", c_char_p), ("state_size", c_int), ("recipe", c_int),
                ("head", c_int), ("epochs", c_long), ("patience", c_int), ("from", c_char_p), ("folder", c_char_p),
                ("validate_every", c_long), ("resume", c_int), ("resume_or_create", c_int), ("force", c_int),
                ("time_budget", c_double), ("given", c_uint64 * 4)]


class sparc_run_score(Structure):
    _fields_ = [("update", c_long), ("score", c_double), ("loss", c_double), ("mse", c_double)]


class sparc_run_event(Structure):
    _fields_ = [("stage", c_int), ("run", c_void_p), ("update", POINTER(sparc_update_report)),
                ("score", POINTER(sparc_run_score)), ("best", c_int), ("message", c_char_p)]


class sparc_run_result(Structure):
    _fields_ = [("finished", c_int), ("io_failed", c_int), ("first", c_long), ("done", c_long), ("saved", c_long),
                ("stopped_early", c_int), ("out_of_time", c_int), ("new_head", c_int), ("seconds", c_double),
                ("best", sparc_run_score), ("final", sparc_run_score), ("baseline_mse", c_double), ("test", sparc_evaluation)]


class sparc_random(Structure):
    _fields_ = [("key", c_uint32 * 2), ("stream", c_uint32 * 2), ("position", c_uint64), ("words", c_uint32 * 4)]


class sparc_metadata(Structure):
    _fields_ = [("key", c_char_p), ("value", c_char_p)]


class sparc_env_shape(Structure):
    _fields_ = [(name, c_int) for name in ("observation", "choices", "action", "horizon")]


class sparc_env_kind(Structure):
    _fields_ = [("version", c_int), ("name", c_char_p), ("summary", c_char_p), ("random_return", c_double),
                ("optimal_return", c_double),
                *((name, c_void_p) for name in ("open", "close", "state_bytes", "scratch_create", "scratch_free",
                                                "reset", "step", "oracle", "segments", "state_valid", "reset_all",
                                                "step_all"))]


class sparc_envs_config(Structure):
    _fields_ = [("name", c_char_p), ("kind", POINTER(sparc_env_kind)), ("options", c_char_p), ("n", c_int),
                ("seed", c_uint64), ("threads", c_int)]


class sparc_ppo_config(Structure):
    _fields_ = [("task", c_char_p), ("kind", POINTER(sparc_env_kind)), ("task_options", c_char_p), ("cell", c_char_p),
                ("cell_options", c_char_p), ("H", c_int), ("state_size", c_int), ("width", c_int), ("init", c_int),
                ("seed", c_uint64), ("rollouts", c_long), ("rollout_steps", c_int), ("streams", c_int), ("shards", c_int),
                ("obsnorm", c_int), ("rewardnorm", c_int), ("discount", c_double), ("gae_lambda", c_double), ("action_limit", c_double),
                ("epochs", c_int), ("minibatches", c_int), ("clip_range", c_double), ("value_coefficient", c_double),
                ("entropy_coefficient", c_double), ("max_gradient_norm", c_double), ("learning_rate", c_double), ("traces", c_int),
                ("trace_interval", c_int), ("refresh", c_int), ("tbptt", c_int), ("encoder", c_int),
                ("memory_limit", c_size_t), ("threads", c_int)]


class sparc_envs_info(Structure):
    _fields_ = [("kind", POINTER(sparc_env_kind)), ("shape", sparc_env_shape), ("n", c_int), ("faults", c_long),
                ("state_bytes", c_size_t)]


class sparc_agent_info(Structure):
    _fields_ = [("shape", sparc_env_shape), ("state_size", c_size_t)]


class sparc_ppo_memory(Structure):
    _fields_ = [("stored_bytes", c_size_t), ("free_bytes", c_size_t), ("other_bytes", c_size_t), ("traces", c_int)]


class sparc_ppo_info(Structure):
    _fields_ = [("config", POINTER(sparc_ppo_config)), ("rollouts_done", c_long), ("parameters", c_size_t),
                ("memory", sparc_ppo_memory)]


class sparc_ppo_diagnostics(Structure):
    _fields_ = [(name, c_double) for name in ("k1", "k2", "k3", "ratio", "clip_fraction", "policy_loss", "value_loss",
                                              "entropy", "explained_variance", "gradient_norm")]


class sparc_ppo_staleness(Structure):
    _fields_ = [("epochs", c_int), ("cosine", c_double * 16), ("ratio", c_double * 16)]


class sparc_ppo_activity(Structure):
    _fields_ = [(name, c_double) for name in ("saturation", "gate_deviation", "state_rms")]


class sparc_ppo_report(Structure):
    _fields_ = [("rollout", c_long), ("steps", c_long), ("episodes", c_int), ("mean_return", c_double),
                ("mean_length", c_double), ("update", sparc_ppo_diagnostics), ("activity", sparc_ppo_activity),
                ("staleness", sparc_ppo_staleness), ("symbols", c_int), ("faults", c_long),
                ("environment_seconds", c_double), ("collection_seconds", c_double), ("update_seconds", c_double)]


# what the library calls: a callback of a run, and the functions of environments that live in Python
RUN_FN = CFUNCTYPE(c_int, c_void_p, POINTER(sparc_run_event))
ENV_OPEN = CFUNCTYPE(c_int, c_char_p, POINTER(sparc_env_shape), POINTER(c_void_p))
ENV_RESET_ALL = CFUNCTYPE(c_int, c_void_p, c_int, POINTER(c_float))
ENV_STEP_ALL = CFUNCTYPE(c_int, c_void_p, c_int, *[POINTER(c_float)] * 4)

# the structures above are those of this version; before 1.0 the next one may change them
_VERSION = "0.3"
_SONAME = f"libsparc.so.{_VERSION}"


def _prefixes():
    """Library folders of installed copies: those of PKG_CONFIG_PATH, of this interpreter's prefix, and the default of make
    install, which may not be in the cache of the dynamic loader."""
    for folder in os.environ.get("PKG_CONFIG_PATH", "").split(os.pathsep):
        if os.path.isabs(folder):
            yield Path(folder).parent
    for prefix in (sys.prefix, sys.base_prefix, "/usr/local"):
        yield Path(prefix) / "lib"
        yield Path(prefix) / "lib64"


def _candidates():
    """SPARC_LIBRARY, the copy in the wheel, that of the source tree, installed copies, then the system's search path."""
    if os.environ.get("SPARC_LIBRARY"):
        return [os.environ["SPARC_LIBRARY"]]
    here = Path(__file__).resolve()
    files = [here.parent / "lib" / "libsparc.so", here.parents[2] / "build" / "release" / "libsparc.so", *(folder / _SONAME for folder in _prefixes())]
    return [str(file.resolve()) for file in files if file.exists()] + [ctypes.util.find_library("sparc") or _SONAME]


def _load():
    for path in (found := _candidates()):
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            last = error
            continue
        loaded.sparc_version.restype = c_char_p
        version = loaded.sparc_version().decode()
        if not version.startswith(_VERSION + "."):
            raise ImportError(f"{path} is version {version}, expected {_VERSION}: install the package of that version, or "
                              "set SPARC_LIBRARY to another shared library")
        return loaded, path
    raise ImportError(f"libsparc cannot be loaded from {' or '.join(found)}: {last}. Install it (make install), or set "
                      "SPARC_LIBRARY to the shared library") from None


library, library_path = _load()

# every call that the package makes: its result (None: a status, which is checked) and its arguments
_P = c_void_p
_CALLS = {
    "sparc_error": (c_char_p, []),
    "sparc_status_name": (c_char_p, [c_int]),
    "sparc_version": (c_char_p, []),
    "sparc_cell_kinds": (POINTER(c_char_p), []),
    "sparc_cell_create": (None, [POINTER(sparc_cell_config), _P]),
    "sparc_cell_config_of": (sparc_cell_config, [_P]),
    "sparc_cell_sizes_of": (sparc_cell_sizes, [_P]),
    "sparc_cell_blocks": (POINTER(sparc_block), [_P, POINTER(c_size_t)]),
    "sparc_cell_init": (None, [_P, c_int, c_uint64, c_char_p, _P]),
    "sparc_plan_create": (None, [_P, c_int, c_int, POINTER(sparc_plan_config), _P]),
    "sparc_plan_sizes_of": (sparc_plan_sizes, [_P, c_int]),
    "sparc_model_parse": (None, [c_char_p, c_size_t, c_char_p, c_int, _P]),
    "sparc_model_info_of": (sparc_model_info, [_P]),
    "sparc_model_metadata": (c_char_p, [_P, c_char_p]),
    "sparc_model_step": (None, [_P, _P, _P, _P]),
    "sparc_model_predict": (None, [_P, POINTER(sparc_samples), _P]),
    "sparc_learner_defaults": (sparc_learner_config, []),
    "sparc_learner_create": (None, [POINTER(sparc_learner_config), _P]),
    "sparc_learner_load": (None, [c_char_p, _P]),
    "sparc_learner_save": (None, [_P, POINTER(c_char_p), _P, c_size_t, c_char_p]),
    "sparc_learner_step": (None, [_P, _P, _P]),
    "sparc_learner_observe": (None, [_P, _P]),
    "sparc_learner_observe_class": (None, [_P, c_int]),
    "sparc_learner_reset_state": (None, [_P]),
    "sparc_learner_freeze": (None, [_P, c_int]),
    "sparc_learner_report_of": (sparc_learner_report, [_P]),
    "sparc_learner_interval": (None, [_P, _P, _P, _P]),
    "sparc_learner_forecast_score": (None, [_P, c_int, POINTER(sparc_forecast_score)]),
    "sparc_learner_periods": (None, [_P, c_int, _P]),
    "sparc_learner_info_of": (sparc_learner_info, [_P]),
    "sparc_step_streams": (None, [_P, _P, c_int, _P, _P, _P, _P, _P, c_int]),
    "sparc_dataset_load": (None, [c_char_p, POINTER(sparc_read_options), _P]),
    "sparc_dataset_from_arrays": (None, [POINTER(sparc_arrays), c_char_p, _P]),
    "sparc_dataset_info_of": (sparc_dataset_info, [_P]),
    "sparc_dataset_example": (sparc_sample, [_P, c_int]),
    "sparc_dataset_subset": (None, [_P, _P, c_int, c_char_p, _P]),
    "sparc_dataset_fill_missing": (None, [_P]),
    "sparc_dataset_forecast": (None, [_P, c_int]),
    "sparc_dataset_normalise": (None, [_P, _P, _P]),
    "sparc_dataset_moments": (None, [_P, _P, _P]),
    "sparc_data_split_load": (None, [c_char_p, POINTER(sparc_data_options), POINTER(sparc_data_split)]),
    "sparc_model_evaluate": (None, [_P, POINTER(sparc_samples), POINTER(sparc_evaluation)]),
    "sparc_model_params": (None, [_P, _P]),
    "sparc_network_save": (None, [_P, _P, POINTER(sparc_preprocessing), _P, c_size_t, c_char_p]),
    "sparc_samples_of_arrays": (sparc_samples, [POINTER(sparc_arrays)]),
    "sparc_network_create": (None, [POINTER(sparc_network_config), _P]),
    "sparc_network_config_of": (sparc_network_config, [_P]),
    "sparc_network_sizes_of": (sparc_network_sizes, [_P]),
    "sparc_network_blocks": (POINTER(sparc_block), [_P, POINTER(c_size_t)]),
    "sparc_network_init": (None, [_P, c_uint64, _P]),
    "sparc_network_plan_create": (None, [_P, c_int, c_int, c_int, _P]),
    "sparc_network_plan_work_bytes": (c_size_t, [_P, c_int]),
    "sparc_run_config_set": (None, [POINTER(sparc_run_config), c_char_p, c_char_p]),
    "sparc_run_create": (None, [POINTER(sparc_run_config), _P]),
    "sparc_run_load": (None, [c_char_p, c_int, _P]),
    "sparc_run_execute": (None, [_P, RUN_FN, _P]),
    "sparc_run_result_of": (sparc_run_result, [_P]),
    "sparc_env_names": (POINTER(c_char_p), []),
    "sparc_env_refuse": (c_int, [c_char_p, c_char_p]),
    "sparc_envs_create": (None, [POINTER(sparc_envs_config), _P]),
    "sparc_envs_info_of": (sparc_envs_info, [_P]),
    "sparc_envs_reset": (None, [_P, _P]),
    "sparc_envs_step": (None, [_P, _P, _P, _P, _P, _P, _P]),
    "sparc_envs_restore": (None, [_P, _P, c_size_t]),
    "sparc_envs_oracle": (None, [_P, _P]),
    "sparc_ppo_defaults": (None, [c_char_p, POINTER(sparc_ppo_config)]),
    "sparc_ppo_create": (None, [POINTER(sparc_ppo_config), _P]),
    "sparc_ppo_iterate": (None, [_P, POINTER(sparc_ppo_report)]),
    "sparc_ppo_info_of": (sparc_ppo_info, [_P]),
    "sparc_ppo_save": (None, [_P, _P, c_size_t, c_char_p]),
    "sparc_ppo_load": (None, [c_char_p, POINTER(sparc_env_kind), c_int, _P]),
    "sparc_agent_load": (None, [c_char_p, _P]),
    "sparc_agent_info_of": (sparc_agent_info, [_P]),
    "sparc_agent_metadata": (c_char_p, [_P, c_char_p]),
    "sparc_agent_step": (None, [_P, _P, _P, c_float, _P, _P]),
}
_FREES = ("sparc_cell_free", "sparc_plan_free", "sparc_model_free", "sparc_dataset_free", "sparc_learner_free",
          "sparc_network_free", "sparc_network_plan_free", "sparc_run_free", "sparc_envs_free", "sparc_ppo_free",
          "sparc_agent_free")
_VOIDS = {
    "sparc_data_split_free": [POINTER(sparc_data_split)],
    "sparc_envs_save": [_P, _P],
    "sparc_random_init": [POINTER(sparc_random), c_uint64, c_char_p, c_char_p],
}
# the same in float and, with _f64, in double
_TWINS = {
    "sparc_prepare": (None, [_P, _P, _P]),
    "sparc_forward": (None, [_P, _P, POINTER(sparc_sequence), _P, _P]),
    "sparc_backward": (None, [_P, _P, POINTER(sparc_sequence), _P, POINTER(sparc_sequence_gradient), _P]),
    "sparc_network_prepare": (None, [_P, _P, _P]),
    "sparc_network_forward": (None, [_P, _P, POINTER(sparc_network_sequence), _P]),
    "sparc_network_backward": (None, [_P, _P, POINTER(sparc_network_sequence), POINTER(sparc_network_gradient), _P]),
    "sparc_network_step": (None, [_P, _P, c_int, _P, _P, _P, _P, _P, c_int]),
}
# a mask is passed by value in the precision of the call
_STEPS = {
    "sparc_step": (None, [_P, _P, _P, _P, "mask", _P, _P]),
    "sparc_step_rtrl": (None, [_P, _P, _P, _P, _P, "mask", _P, _P]),
    "sparc_rtrl_gradient": (None, [_P, _P, _P, _P, _P, _P, _P]),
}


def check(status):
    """Raises Error with the library's message unless the status is SPARC_OK."""
    if status:
        raise Error(library.sparc_status_name(status).decode(), library.sparc_error().decode())


def _checked(status, function, arguments):
    del function, arguments
    check(status)


def _declare(name, result, arguments):
    function = getattr(library, name)
    function.argtypes = arguments
    if result is None:
        function.restype = c_int
        function.errcheck = _checked
    else:
        function.restype = result


for _name, (_result, _arguments) in _CALLS.items():
    _declare(_name, _result, _arguments)
for _name in _FREES:
    getattr(library, _name).argtypes = [_P]
    getattr(library, _name).restype = None
for _name, _arguments in _VOIDS.items():
    getattr(library, _name).argtypes = _arguments
    getattr(library, _name).restype = None
for _suffix, _mask in (("", c_float), ("_f64", c_double)):
    for _name, (_result, _arguments) in {**_TWINS, **_STEPS}.items():
        _declare(_name + _suffix, _result, [_mask if a == "mask" else a for a in _arguments])


class Handle:
    """Owns an object of the library, created by `create` and released by `free`. Keeps `keep` alive as long as it lives."""

    def __init__(self, create, free, keep=None):
        self._as_parameter_ = c_void_p()
        self._free = getattr(library, free)
        self._keep = keep
        create(ctypes.byref(self._as_parameter_))

    def __del__(self):
        if getattr(self, "_as_parameter_", None):
            self._free(self._as_parameter_)
            self._as_parameter_ = None


class Guarded:
    """An object that several threads may use: calls that modify it hold its lock. Members that determine array sizes are
    set once, by _fix. A fork waits for the locks, so that a child never sees an unfinished call."""

    _registry = threading.RLock()
    _objects = weakref.WeakSet()
    _held = []

    def __init__(self):
        object.__setattr__(self, "_lock", threading.RLock())
        object.__setattr__(self, "_fixed", set())
        with Guarded._registry:
            Guarded._objects.add(self)

    def _fix(self, **members):
        for name, value in members.items():
            object.__setattr__(self, name, value)
            self._fixed.add(name)

    def __setattr__(self, name, value):
        if name in self._fixed:
            raise AttributeError(f"{name} of a {type(self).__name__} cannot be changed")
        object.__setattr__(self, name, value)

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled or copied")

    def __delattr__(self, name):
        if name in self._fixed:
            raise AttributeError(f"{name} of a {type(self).__name__} cannot be deleted")
        object.__delattr__(self, name)

    @staticmethod
    def _before_fork():
        Guarded._registry.acquire()
        Guarded._held.append(list(Guarded._objects))
        for each in Guarded._held[-1]:
            each._lock.acquire()

    @staticmethod
    def _after_fork():
        for each in Guarded._held.pop():
            each._lock.release()
        Guarded._registry.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=Guarded._before_fork, after_in_parent=Guarded._after_fork,
                        after_in_child=Guarded._after_fork)


class Interrupt:
    """Within this context the first Ctrl-C sets `asked`, the second one interrupts immediately. An exception raised by a
    signal inside a callback of the library would be lost before the callback could catch it."""

    def __enter__(self):
        self.asked, self._before = False, None
        if threading.current_thread() is threading.main_thread():
            self._before = signal.getsignal(signal.SIGINT)
            if callable(self._before):
                signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, number, frame):
        if self.asked:
            return self._before(number, frame)
        self.asked = True

    def __exit__(self, *exception):
        if callable(self._before):
            signal.signal(signal.SIGINT, self._before)


def text(value):
    """Text, or None, for a `const char *`."""
    return None if value is None else os.fsencode(value)


def integer(value, name, low=-2**31, high=2**31 - 1):
    """An integer in the range of a C int, or in another range; ctypes would truncate it silently."""
    try:
        value = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is {value!r}, expected a whole number") from None
    if not low <= value <= high:
        raise ValueError(f"{name} is {value}, expected {low} to {high}")
    return value


_RANGES = {kind: (-2**(8 * ctypes.sizeof(kind) - 1), 2**(8 * ctypes.sizeof(kind) - 1) - 1) for kind in (c_int, c_long)}
_RANGES.update({kind: (0, 2**(8 * ctypes.sizeof(kind)) - 1) for kind in (c_size_t, c_uint64)})


def assign(structure, member, value, name):
    """Sets a member of a structure; name is used in errors. Strings and paths are kept alive by the structure."""
    kind = dict(structure._fields_)[member]
    if kind is c_char_p:
        if not isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"{name} is {value!r}, expected a text")
        value = text(value)
    elif kind in _RANGES:
        value = integer(value, name, *_RANGES[kind])
    elif kind is c_double:
        try:
            value = float(value)
        except (TypeError, ValueError):
            raise TypeError(f"{name} is {value!r}, expected a number") from None
    setattr(structure, member, value)


def address(array):
    """Address of an array; None stays None."""
    return None if array is None else array.ctypes.data


def numbers(values, dtype, name):
    """values as an aligned, contiguous array of this type, copied if necessary. Lossy conversions are refused."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, expected a plain one: filled() makes it")
    if np.iscomplexobj(values):
        raise TypeError(f"{name} is complex, expected real numbers")
    return np.require(values, dtype, ["C", "A"])


def array(values, dtype, shape, name, written=False):
    """values as an aligned, contiguous array of this type and shape; None stays None. Inputs are copied if necessary.
    An array that the library writes to must have this layout itself and be writable."""
    dtype, shape = np.dtype(dtype), tuple(shape)
    if values is None and not written:
        return None
    if not written:
        values = numbers(values, dtype, name)
    elif not isinstance(values, np.ndarray) or values.dtype != dtype:
        found = values.dtype if isinstance(values, np.ndarray) else type(values).__name__
        raise TypeError(f"{name} is {found}, expected a NumPy array of {dtype}")
    if values.shape != shape:
        raise ValueError(f"{name} has the shape {values.shape}, expected {shape}")
    if written and not (values.flags.c_contiguous and values.flags.aligned):
        raise ValueError(f"{name} is not contiguous")
    if written and not values.flags.writeable:
        raise ValueError(f"{name} is read-only")
    return values


def aligned(size):
    """Scratch memory of `size` bytes, aligned to 64."""
    memory = np.empty(size + 64, np.uint8)
    start = -memory.ctypes.data % 64
    return memory[start:start + size]
