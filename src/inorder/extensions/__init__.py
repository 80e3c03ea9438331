"""Code that is not part of inorder: installed plug-ins, and what a user names as `package.module:name`.

Read the package in this order: `loading` imports such code, `registry` finds it by the name that the user writes.
"""
