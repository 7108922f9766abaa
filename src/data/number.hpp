#pragma once

namespace ignd {

// Reads the decimal number that starts at `at` ("-1.5", "+2e-3", ".5", "inf", "nan"; no white space) and returns where
// it ends, or null if no number starts there. The nearest double, whatever the locale.
const char* read_number(const char* at, const char* end, double& value);

}  // namespace ignd
