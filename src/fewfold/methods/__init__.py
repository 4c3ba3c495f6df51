"""The methods: one folder and one record each. `fewfold.methods.registry` finds them."""
