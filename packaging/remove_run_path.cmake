# cmake -DPROGRAM=FILE -P remove_run_path.cmake: what a distribution installs lies where the loader looks by itself.
file(RPATH_REMOVE FILE "${PROGRAM}")
