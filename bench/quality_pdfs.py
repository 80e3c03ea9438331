"""Makes a folder of PDFs and what their sources say, for `quality.py --folder`: see `reading/real_pdfs.py`."""

from reading.real_pdfs import main

if __name__ == "__main__":
    main()
