#pragma once

// Marks what libignd.so exports; everything else in it is hidden. A new public header marks
//   - each function that the library defines: IGND_API Loss make_loss(...);
//   - each class with members that the library defines, with virtual functions, or that is thrown: class IGND_API Loss.
// Plain structs, enums and what a header defines whole need no mark. Class templates carry it as classes do; the
// library instantiates them for the types that it offers. The test Binaries.TheLibraryExportsOnlyWhatItsHeadersPromise
// compares the marks with the library.
#if defined(__GNUC__)
#define IGND_API __attribute__((visibility("default")))
#else
#define IGND_API
#endif
