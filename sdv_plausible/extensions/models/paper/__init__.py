"""The learner of the paper: correlation-based feature selection and Dirichlet tables."""
