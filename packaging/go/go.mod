module ckitchen

go 1.19
