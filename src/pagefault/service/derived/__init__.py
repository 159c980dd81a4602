"""Pages made of others: claims, procedures, shorter forms; and the vectors of pages."""
