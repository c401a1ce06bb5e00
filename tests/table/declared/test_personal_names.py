"""Names of columns that tell who people are: by whole words."""

from sdv_plausible.release.file.fake_columns import check_placeholder_types
from sdv_plausible.table.declared.column_types import SDTYPES, personal_sdtype


def test_by_whole_words():
    for name, sdtype in (
        ("name", "name"), ("e-mail", "email"), ("eMail", "email"), ("E_MAIL_1", "email"), ("customerName", "name"), ("Phone", "phone_number"),
        ("phone_number", "phone_number"), ("home address", "address"), ("address_line_2", "address"), ("ip_address", "ipv4_address"),
        ("filename_count", None), ("filename", None), ("product_name", None), ("email_verified", None), ("renamed", None),
        ("phone_type", None), ("mobile", None), ("", None), ("x", None), ("age", None),
    ):  # fmt: skip
        assert personal_sdtype(name) == sdtype
    check_placeholder_types(SDTYPES, ["en_US"])  # every way out can be invented
