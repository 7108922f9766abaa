#pragma once

// Includes the whole library. Each header can also be included by itself.
#include "ignd/batch.hpp"            // IWYU pragma: export
#include "ignd/batch_trainer.hpp"    // IWYU pragma: export
#include "ignd/checkpoint.hpp"       // IWYU pragma: export
#include "ignd/ensemble.hpp"         // IWYU pragma: export
#include "ignd/error.hpp"            // IWYU pragma: export
#include "ignd/frame.hpp"            // IWYU pragma: export
#include "ignd/gradient_check.hpp"   // IWYU pragma: export
#include "ignd/initial_weights.hpp"  // IWYU pragma: export
#include "ignd/linear.hpp"           // IWYU pragma: export
#include "ignd/loss.hpp"             // IWYU pragma: export
#include "ignd/loss_check.hpp"       // IWYU pragma: export
#include "ignd/mlp.hpp"              // IWYU pragma: export
#include "ignd/model.hpp"            // IWYU pragma: export
#include "ignd/model_file.hpp"       // IWYU pragma: export
#include "ignd/network.hpp"          // IWYU pragma: export
#include "ignd/optimizer.hpp"        // IWYU pragma: export
#include "ignd/random.hpp"           // IWYU pragma: export
#include "ignd/samples.hpp"          // IWYU pragma: export
#include "ignd/saved_model.hpp"      // IWYU pragma: export
#include "ignd/schedule.hpp"         // IWYU pragma: export
#include "ignd/sensitivity.hpp"      // IWYU pragma: export
#include "ignd/step_rule.hpp"        // IWYU pragma: export
#include "ignd/stream.hpp"           // IWYU pragma: export
#include "ignd/train.hpp"            // IWYU pragma: export
#include "ignd/trainer.hpp"          // IWYU pragma: export
#include "ignd/transform.hpp"        // IWYU pragma: export
#include "ignd/vector_loss.hpp"      // IWYU pragma: export
#include "ignd/version.hpp"          // IWYU pragma: export
