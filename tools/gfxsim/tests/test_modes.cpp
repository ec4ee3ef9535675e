#include "rows.hpp"
