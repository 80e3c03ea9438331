"""The stage `doctags`: documents as DoclingDocument JSON, which is exact, and as DocTags, which are compact."""
