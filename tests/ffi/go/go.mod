module fficlient

go 1.19

require ckitchen v0.0.0

replace ckitchen => ../../../packaging/go
