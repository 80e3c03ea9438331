"""Bugs in the server: each would let something be read, executed or believed that must not be."""

from tests.mutants.mutant import Mutant

_ACCESS = "tests/serve/test_access.py"
_DOCUMENTS = "tests/serve/test_documents.py"
_METRICS = "tests/serve/test_metrics.py"

SERVE_MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "any name in Host is answered",
        "serve/security/access.py",
        "            address = ipaddress.ip_address(name)\n        except ValueError:\n            return False",
        "            address = ipaddress.ip_address(name)\n        except ValueError:\n            return True",
        f"{_ACCESS}::test_a_name_that_another_site_rebinds_to_this_machine_is_refused",
    ),
    Mutant(
        "requests from pages of other sites are answered",
        "serve/security/access.py",
        "if not _is_own_origin(headers, hosts[0]):",
        "if False:",
        f"{_ACCESS}::test_a_request_from_a_page_of_another_site_is_refused",
    ),
    Mutant(
        "a wrong token is accepted",
        "serve/security/access.py",
        'return hmac.compare_digest(given.strip().encode("utf-8", "replace"), self._token)',
        "return True",
        f"{_ACCESS}::test_a_wrong_token_is_refused",
    ),
    Mutant(
        "links are judged by their own path",
        "serve/sources.py",
        "    real = os.path.realpath(path)\n",
        "    real = os.path.abspath(path)\n",
        f"{_DOCUMENTS}::test_a_link_inside_the_sources_is_followed",
    ),
    Mutant(
        "links to scripts are kept",
        "serve/markup.py",
        'url_schemes={"http", "https", "mailto"},',
        'url_schemes={"http", "https", "mailto", "javascript"},',
        f"{_DOCUMENTS}::test_markup_of_a_document_is_harmless",
    ),
    Mutant(
        "times are written in milliseconds",
        "stage/monitor/prometheus.py",
        'round(histogram["sum"] / 1000, 9)',
        'round(histogram["sum"], 9)',
        f"{_METRICS}::test_the_latest_run_of_every_stage_is_shown",
    ),
)
