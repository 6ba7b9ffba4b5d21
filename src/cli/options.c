/* SPDX-License-Identifier: MIT */
/* options.c: the options of `sparc train`, `sparc rl` and `sparc learn`, and those that several commands share. */
#include "cli/options.h"

#include <stddef.h>

static const char network[] = "Network:", training[] = "Training:", regularisation[] = "Regularisation:";
static const char data[] = "Data:", csv[] = "CSV as exported:", run[] = "Run:", task[] = "Task:";
static const char several[] = "Instead of a run:", stream[] = "Stream:", learning[] = "Learning:",
                  learner[] = "Learner:";
static const char forecasts[] = "Forecasts:", output[] = "Output:";

#define RESUME_OPTION \
  { "resume", 0, run, NULL, .help = "Continue the run in the folder bit-exactly; it must exist" }
#define RESUME_OR_CREATE \
  { "resume-or-create", 0, run, NULL, .help = "Continue the run in the folder, or start it if there is none" }
#define FORCE_OPTION \
  { "force", 0, run, NULL, .help = "Replace the run in the folder" }
#define SEEDS_OPTION \
  { "seeds", 0, several, "A-B", .help = "Run once for each seed, each in its own folder" }

const cli_option train_options[] = {
    {"data", POSITIONAL, .argument = "DATA|TASK"},
    CELL_OPTION,
    CELL_OPTIONS_OPTION,
    VARIANT_OPTION,
    {"modes", 'H', network, "N", .help = "Modes (or real coordinates) of each cell"},
    STATE_SIZE_OPTION,
    {"layers", 'L', network, "N", .help = "Residual layers; 0: the cell alone"},
    {"embedding", 0, network, "HOW",
     .help = "Input embedding: none, linear or tanh (default: linear; without layers none)"},
    {"width", 'w', network, "N", .help = "Width of the embedding and the residual stream"},
    {"dropout", 0, network, "P", .help = "Dropout probability"},
    {"head", 0, network, "HOW",
     .help = "Input of the head: mean over all steps, or last step (default: mean; generated tasks: last)"},
    {"from", 0, network, "MODEL",
     .help = "Start from the weights of a checkpoint or run; the head is new where classes differ"},
    {"updates", 'n', training, "N",
     .help = "Updates (default: by --recipe, 40 epochs, at least 1000 and at most 20000; generated tasks: "
             "task-specific)"},
    {"epochs", 'e', training, "N", .help = "Passes over the examples, instead of --updates"},
    {"batch", 'B', training, "N", .help = "Examples per update"},
    {"learning-rate", 'r', training, "X", .help = "Learning rate"},
    {"min-learning-rate", 0, training, "X",
     .help =
         "Learning rate at both ends of the schedule; generated tasks have a schedule if this or --warmup is given"},
    {"warmup", 0, training, "N", .help = "Updates from the minimum to the learning rate (default: a tenth of all)"},
    {"recurrent-lr-scale", 0, training, "X", .help = "Learning rate of recurrent parameters relative to the others"},
    {"weight-decay", 0, training, "X", .help = "Weight decay of regular parameters"},
    {"max-gradient-norm", 0, training, "X", .help = "Clip the norm of the gradient; 0: no clipping"},
    {"seed", 's', training, "N", .help = "Seed of weights, batches and dropout"},
    {"class-weights", 0, training, "HOW", .help = "none, or balanced: weight the loss by inverse class frequency"},
    {"shards", 0, training, "S",
     .help =
         "Divide every batch into S shards, which the ranks of an MPI job share; results depend on S, but not on the "
         "number "
         "of ranks (0: not divided)"},
    {"readout", 0, training, "HOW",
     .help = "gradient: train all weights; ridge: draw a fixed bank of filters and fit the head in closed form "
             "(default: ridge for at most 1000 examples with classes if no network or training option is given, else "
             "gradient)"},
    {"validate-every", 'v', training, "N",
     .help = "Validate and save after every N updates (default: a twentieth of a length chosen by size; otherwise 500, "
             "or a "
             "tenth of all updates if that is less)"},
    {"patience", 0, training, "N",
     .help = "Stop after N validations without improvement (default: 8; never with updates, epochs or --recipe paper)"},
    {"time-budget", 0, training, "SECONDS", .help = "Shorten the run to this time, and stop when it is over"},
    THREADS_OPTION,
    {"label-smoothing", 0, regularisation, "X", .help = "Label smoothing: probability spread over all classes"},
    {"jitter", 0, regularisation, "X", .help = "Standard deviation of noise on the normalised values"},
    {"scaling", 0, regularisation, "X", .help = "Standard deviation of a random factor for each channel"},
    {"crop", 0, regularisation, "X",
     .help = "Remove up to this fraction of the steps at both ends and stretch the rest"},
    {"ema-decay", 0, regularisation, "X",
     .help = "Decay of an exponential moving average of the weights, which is evaluated"},
    {"recipe", 0, regularisation, "WHICH",
     .help = "Defaults: paper, sized (length by rows), small (few rows), auto (default: auto, small or sized)"},
    {"official", 0, data, NULL, .help = "Fit on the whole training partition, report on the test partition"},
    ROOT_OPTION,
    {"out", 'o', run, "DIR", .help = "Run folder (default: runs/DATA-CELL-sSEED, CELL with variant and options)"},
    RESUME_OPTION,
    RESUME_OR_CREATE,
    FORCE_OPTION,
    SEEDS_OPTION,
    {"jobs", 0, several, "N", .help = "Run N seeds or folds at a time, each in a process", .needs = "seeds folds"},
    {.name = NULL},
};

const cli_option rl_options[] = {
    {"task", POSITIONAL, task, "TASK|./PLUGIN.so", .help = "The same as TASK alone", .option = "env"},
    {"options", 0, task, "LIST", .help = "Options of the task: key=value,..."},
    {"plugin", 0, task, "./PLUGIN.so",
     .help = "Load this plugin if an agent or a configuration file names it as its task"},
    CELL_OPTION,
    CELL_OPTIONS_OPTION,
    VARIANT_OPTION,
    {"modes", 'H', network, "N", .help = "Modes (or real coordinates) of the cell"},
    STATE_SIZE_OPTION,
    {"width", 'w', network, "N", .help = "Width of the embedding and of the hidden layers of both heads"},
    {"init", 0, network, "HOW", .help = "Initial weights: as in the paper, or as in the released code of its authors"},
    {"encoder", 0, network, "HOW",
     .help = "Gradient of the embedding: local (through its own step) or exact (through time)"},
    {"seed", 's', training, "N", .help = "Seed of weights, environments, actions and minibatches"},
    {"steps", 'n', training, "N",
     .help = "Environment steps of the run, in whole rollouts (default: the paper's, 3999744; robots 4999168)"},
    {"rollout-steps", 0, training, "N", .help = "Environment steps per rollout, over all streams"},
    {"streams", 0, training, "N", .help = "Parallel environments of a rollout"},
    {"shards", 0, training, "S",
     .help = "Divide streams and minibatches into S shards, which the ranks of an MPI job share; results depend on S, "
             "but not "
             "on "
             "the number of ranks (0: not divided)"},
    {"obsnorm", 0, training, "HOW",
     .help = "Normalise observations: none, by feature or pooled (default: none; robots feature)"},
    {"rewardnorm", 0, training, "HOW",
     .help = "Divide rewards by the standard deviation of the return: none or return (default: none; robots return)"},
    {"discount", 0, training, "X", .help = "Discount factor of rewards"},
    {"gae-lambda", 0, training, "X", .help = "Lambda of generalised advantage estimation"},
    {"action-limit", 0, training, "X", .help = "Clip continuous actions to this magnitude"},
    {"epochs", 0, training, "N", .help = "Passes over a rollout (default: 10; robots 4)"},
    {"minibatches", 0, training, "N", .help = "Minibatches per pass"},
    {"clip-range", 0, training, "X", .help = "Clip range of PPO for probability ratios and value changes"},
    {"value-coefficient", 0, training, "X", .help = "Weight of the value loss"},
    {"entropy-coefficient", 0, training, "X", .help = "Weight of the entropy bonus"},
    {"max-gradient-norm", 0, training, "X", .help = "Clip the norm of the gradient"},
    {"learning-rate", 'r', training, "X", .help = "Learning rate (default: the paper's for the task, mostly 1e-4)"},
    {"traces", 0, training, "HOW", .help = "Sensitivities: stored, free (recomputed from records), or auto"},
    {"trace-interval", 0, training, "N",
     .help = "Trace-free: also store sensitivities before every Nth step; 0: at the boundary only"},
    {"refresh", 0, training, "HOW",
     .help = "Recompute states and sensitivities before every epoch: none, epoch, or measure (only compare gradients)"},
    {"tbptt", 0, training, "N",
     .help = "Backpropagation through time truncated to N steps; 0: RTRL, or 4 steps for cells without it"},
    {"memory-limit", 0, training, "MB",
     .help = "Fail if the run needs more megabytes (default: no limit; --traces auto uses at most half of the memory)"},
    {"threads", 'T', training, "N", .help = "Use at most N threads (default: 1)"},
    {"out", 'o', run, "DIR", .help = "Run folder (default: runs/TASK-CELL-sSEED, with options of both)"},
    RESUME_OPTION,
    RESUME_OR_CREATE,
    FORCE_OPTION,
    {"eval", 'e', several, "AGENT",
     .help = "Evaluate AGENT, a run folder or its last.safetensors, on its task or on TASK"},
    {"episodes", 0, several, "N", .help = "With --eval: play N episodes", .needs = "eval"},
    {"greedy", 0, several, NULL, .help = "With --eval: take the most probable actions instead of sampling",
     .needs = "eval"},
    SEEDS_OPTION,
    {"jobs", 0, several, "N", .help = "Run N seeds at a time, each in a process", .needs = "seeds"},
    {.name = NULL},
};

const cli_option learn_options[] = {
    {"input", POSITIONAL, .argument = "FILE|-"},
    CELL_OPTION,
    CELL_OPTIONS_OPTION,
    VARIANT_OPTION,
    {"modes", 'H', network, "N", .help = "Modes (or real coordinates) of the cell"},
    STATE_SIZE_OPTION,
    {"embedding", 0, network, "HOW", .help = "Input embedding: none, linear or tanh (default: none)"},
    {"width", 'w', network, "N", .help = "Width of the embedding"},
    {"hidden", 0, network, "N", .help = "Width of a tanh layer before the outputs; 0: none"},
    {"learning-rate", 'r', learning, "X", .help = "Learning rate"},
    {"recurrent-lr-scale", 0, learning, "X", .help = "Learning rate of recurrent parameters relative to the others"},
    {"weight-decay", 0, learning, "X", .help = "Weight decay of regular parameters"},
    {"max-gradient-norm", 0, learning, "X", .help = "Clip the norm of the gradient; 0: no clipping"},
    {"update-every", 0, learning, "N", .help = "Update the weights after every N targets, with their mean gradient"},
    {"encoder", 0, learning, "HOW",
     .help = "Gradient of the embedding: local (through its own step) or exact (through time)"},
    {"normalise", 0, learning, "HOW", .help = "Normalise values by their running mean and standard deviation, or none"},
    {"normaliser-window", 0, learning, "N", .help = "Steps that the running mean and standard deviation cover; 0: all"},
    {"seed", 's', learning, "N", .help = "Seed of the initial weights"},
    {"target", 0, stream, "COLUMN,...",
     .help = "Predict the numbers in these columns, by name or number (default: forecast all)"},
    {"label", 0, stream, "COLUMN", .help = "Predict the class in this column; --classes names them"},
    {"classes", 0, stream, "A,B,...", .help = "Classes in the label column"},
    {"horizon", 0, stream, "N", .help = "Steps from a prediction to its target (default: 1 for forecasts, else 0)"},
    {"id", 0, stream, "COLUMN", .help = "A new sequence begins where this column changes (default: one sequence)"},
    {"time", 0, stream, "COLUMN",
     .help = "Column of times, which is not an input; lines must be in its order (default, or none: no such column)"},
    {"ignore", 0, stream, "COLUMN,...", .help = "Ignore these columns"},
    {"by-position", 0, stream, NULL, .help = "When resuming, match columns by position instead of by name"},
    {"decimal", 0, stream, "C", .help = "Decimal point, . or , (default: .)"},
    {"keep-going", 0, stream, NULL, .help = "Report and skip malformed lines"},
    {"forecaster", 0, forecasts, "HOW",
     .help = "Forecast by a mixture of experts that includes the network, or by the network alone"},
    {"horizons", 0, forecasts, "N,...",
     .help = "Forecast several horizons at once; the network is an expert for the first"},
    {"coverage", 0, forecasts, "P", .help = "Coverage of prediction intervals"},
    {"model", 'm', learner, "FILE", .help = "Save the learner to FILE, which is also a model (default: not saved)"},
    {"save-every", 0, learner, "N", .help = "Also save after every N steps, not only at the end"},
    {"resume", 0, learner, NULL, .help = "Continue the learner in FILE bit-exactly; it must exist"},
    {"resume-or-create", 0, learner, NULL, .help = "Continue the learner in FILE, or create it if there is none"},
    {"force", 0, learner, NULL, .help = "Replace FILE"},
    {"frozen", 0, learner, NULL, .help = "Predict and score without learning"},
    {"format", 0, output, "F", .help = "Write predictions as csv or jsonl, or none"},
    {"intervals", 0, output, NULL, .help = "Also write the prediction interval of every forecast"},
    {"anomaly", 0, output, NULL,
     .help = "Also write the anomaly score of every value; above 1 it is outside the interval"},
    {.name = NULL},
};

const cli_option read_options[] = {
    {"objective", 0, data, "WHAT",
     .help = "classify series, regress (labels are numbers) or forecast (default: classify)"},
    {"horizon", 0, data, "N", .help = "Forecast: steps ahead (default: 1)"},
    {"context", 0, data, "N",
     .help = "Forecast: steps of the windows of a single series (default: 64, or a quarter of it)"},
    {"format", 0, data, "F", .help = "Read the file as auto, ucr, ts, csv, npy, npz, idx or cifar (default: auto)"},
    {"labels", 0, data, "FILE", .help = "Take the labels of an NPY or IDX file from FILE"},
    {"x", 0, data, "NAME", .help = "NPZ: array of the series (default: x, X, x_train, X_train, data or arr_0)"},
    {"y", 0, data, "NAME", .help = "NPZ: array of the labels (default: y, Y, y_train, Y_train, labels or arr_1)"},
    {"unlabelled", 'u', data, NULL, .help = "Rows have values only, no label"},
    {"label", 0, csv, "COLUMN", .help = "Name or number of the label column, or none (default: the last)"},
    {"ignore", 0, csv, "COLUMN,...", .help = "Ignore these columns"},
    {"id", 0, csv, "COLUMN", .help = "Long format, one step per row: rows with the same id are one series"},
    {"time", 0, csv, "COLUMN", .help = "Long format: order of the steps; without --id the file is one series"},
    {"channels", 0, csv, "N",
     .help = "Channels of a row, step by step (default: from names a_0,a_1,...,b_0,b_1,..., else 1)"},
    {"decimal", 0, csv, "C", .help = "Decimal point, . or , (default: .)"},
    {"validation", 0, data, "X",
     .help = "Fraction of the training examples of each class for validation (default: 0.1; none with --split whole)"},
    {"split", 0, data, "HOW",
     .help = "Validation split: sound (at least one example of each class; a series keeps its past), whole (none, all "
             "examples fit; default of the ridge readout) or paper"},
    {"folds", 0, data, "K", .help = "K-fold cross-validation, stratified; `sparc train` trains K times"},
    {"fold", 0, data, "I", .help = "With --folds: validate on fold I, from 1 to K, and train only once"},
    {"max-rows", 0, data, "N", .help = "Reject a file with more rows (default: 20000000)"},
    {.name = NULL},
};

const cli_option tool_options[] = {
    {"config", 0, run, "FILE", .help = "Read settings from a JSON FILE; options override them"},
    {"quiet", 'q', run, NULL,
     .help = "Print results and errors only, no progress, hints or warnings about old options"},
    {"json", 'j', run, NULL, .help = "Print JSON, one object per result"},
    {"progress", 'p', run, "HOW", .help = "auto, plain (an occasional line) or none"},
    {.name = NULL},
};
