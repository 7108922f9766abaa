#!/usr/bin/env python3
"""Whether scripts/docs.py notices a page that disagrees with the program, and fills it in."""

import contextlib
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path
from types import SimpleNamespace

ROOT = Path(__file__).resolve().parent.parent
spec = importlib.util.spec_from_file_location("docs", ROOT / "scripts/docs.py")
docs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(docs)

PAGE = """# A page

<!-- run: -->

    $ printf 'mape 0.0826\\nepoch 7\\nlast 3\\n'
    mape {mape}
    ...
    last 3

Text with 99 that no command prints.

<!-- from: echo '| a | .5 |' tier={tier} -->
| a | .5 |
<!-- end -->
"""


class Agreement(unittest.TestCase):
    def test_roundings_of_another_instruction_set_agree(self):
        self.assertTrue(docs.agrees("mape 0.0826, kept epoch 5", "mape  0.0850, kept epoch 6", 0.1))

    def test_other_numbers_do_not(self):
        self.assertFalse(docs.agrees("mape 0.0972", "mape 0.0826", 0.1))
        self.assertFalse(docs.agrees("1,000 rows", "2,000 rows", 0.1))
        self.assertFalse(docs.agrees("difference -.5", "difference .5", 0.1))

    def test_other_words_do_not(self):
        self.assertFalse(docs.agrees("saved a.ignd", "replaced a.ignd", 0.1))
        self.assertFalse(docs.agrees("mape 0.1", "mape n/a", 0.1))

    def test_means_may_differ_by_their_deviations(self):
        self.assertTrue(docs.agrees("| .0067 ± .0054 |", "| -.0010 ± .0090 |", 0.1))
        self.assertFalse(docs.agrees("| .222 ± .021 |", "| .250 ± .025 |", 0.1))
        self.assertFalse(docs.agrees("| .222 ± .002 |", "| .222 ± .021 |", 0.1))
        self.assertFalse(docs.agrees("| .222 ± .021 |", "| .223 ± .021 |", 0))

    def test_times_are_not_compared(self):
        self.assertTrue(docs.agrees("in 0.0155 s (5.17e+05 samples/s)", "in 14 s (21 samples/s)", 0.1))
        self.assertTrue(docs.agrees('{"seconds":0.1,"rows":7}', '{"seconds":9.5,"rows":7}', 0.1))

    def test_numbers_are_read_as_the_pages_write_them(self):
        self.assertEqual(docs.numbers_and_words("| .222 ± .021 | 5.7e-06 | −14.2 | 51,270 |")[0],
                         [0.222, 0.021, 5.7e-6, -14.2, 51270])
        self.assertEqual(docs.numbers_and_words("mlp:32 c9 utf8")[1], ["mlp:", "c9 utf8"])


class Elision(unittest.TestCase):
    def test_what_is_left_out_stays_left_out(self):
        new = ["head", "epoch 1 loss 3", "epoch 2 loss 2", "kept 2", "", "test 9"]
        self.assertEqual(docs.elided(["head", "epoch 1 loss 4", "...", "kept 1", "...", "test 8"], new),
                         ["head", "epoch 1 loss 3", "...", "kept 2", "...", "test 9"])
        self.assertEqual(docs.elided(["head", "..."], new), ["head", "..."])


class Unmarked(unittest.TestCase):
    TABLE = "| | error |\n|---|---|\n| b = 8 | **.26** ± .02 |\n"

    def found(self, page):
        return docs.unmarked_numbers(page.split("\n"))

    def test_a_table_of_decimals_needs_a_mark(self):
        self.assertEqual(self.found("Text\n\n" + self.TABLE + "\nText\n\n" + self.TABLE), [2, 8])
        self.assertEqual(self.found("- a list\n\n  | took |\n  |---|\n  | 1.3 s |"), [2])

    def test_a_command_or_a_reason_is_a_mark(self):
        self.assertEqual(self.found("<!-- from: true -->\n" + self.TABLE + "<!-- end -->"), [])
        self.assertEqual(self.found("<!-- by hand: the paper's values -->\n\n" + self.TABLE), [])

    def test_a_reason_holds_for_one_table_or_up_to_its_end(self):
        reason = "<!-- by hand: the paper's values -->\n"
        self.assertEqual(self.found(reason + self.TABLE + "\n" + self.TABLE), [5])
        self.assertEqual(self.found(reason + self.TABLE + "\n" + self.TABLE + "<!-- end -->\n" + self.TABLE), [9])
        self.assertEqual(self.found("<!-- by hand: -->\n" + self.TABLE), [1])

    def test_a_transcript_with_decimals_needs_one_too(self):
        self.assertEqual(self.found("    $ ignd bench\n    took 0.5 s"), [0])
        self.assertEqual(self.found("<!-- run: -->\n\n    $ ignd bench\n    took 0.5 s"), [])

    def test_commands_options_and_versions_have_none(self):
        self.assertEqual(self.found("    $ ignd train a.csv --lr 0.1\n\n    $ ignd train b.csv --lr 0.5"), [])
        self.assertEqual(self.found("| `--lrs` | `1e-6:1:2` |\n|---|---|\n| date | 31.12.2024, 9.11.9 | 224 |"), [])
        self.assertEqual(self.found("```\n| x = 0.5 | .5 |\n```"), [])


class Links(unittest.TestCase):
    def broken(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(text)
            (Path(folder) / "other.md").write_text("# `ignd train`, in short\n\n## Twice\n\n## Twice\n")
            return docs.broken_links(page)

    def test_files_and_headings_that_exist_are_fine(self):
        self.assertEqual(self.broken("# A page\n[a](other.md) [b](#a-page) [c](other.md#ignd-train-in-short)"), [])
        self.assertEqual(self.broken("[a](other.md#twice) [b](other.md#twice-1) [c](https://example.org/x.md)"), [])

    def test_others_are_broken(self):
        self.assertEqual(self.broken("# A page\n\n![figure](none.svg)"), [(2, "none.svg")])
        self.assertEqual(self.broken("[a](other.md#thrice) [b](#twice)"), [(0, "other.md#thrice"), (0, "#twice")])

    def test_code_has_no_links_and_no_headings(self):
        self.assertEqual(self.broken("`f[1](x)`\n\n    g[2](y)\n\n```\nh[3](z)\n```"), [])
        self.assertEqual(self.broken("[a](#no)\n\n```\n# no\n```"), [(0, "#no")])


class Pages(unittest.TestCase):
    def work(self, action, mape="0.0826", tier="quick", more="", only=""):
        """What is printed, how many blocks disagree, and the page afterwards."""
        with tempfile.TemporaryDirectory(dir=ROOT / "build") as folder:
            page = Path(folder) / "page.md"
            page.write_text(PAGE.format(mape=mape, tier=tier) + more)
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                wrong = docs.work_on(
                    page, SimpleNamespace(action=action, tier="quick", only=only), Path("/bin/true")
                )
            return said.getvalue(), wrong, page.read_text()

    def test_a_true_page_agrees(self):
        said, wrong, _ = self.work("check")
        self.assertEqual((said.count("agrees"), wrong), (2, 0))

    def test_a_false_number_is_found_and_shown(self):
        said, wrong, _ = self.work("check", mape="0.0972")
        self.assertEqual(wrong, 1)
        self.assertIn("-    mape 0.0972", said)
        self.assertIn("+    mape 0.0826", said)

    def test_an_unmarked_table_fails_the_check(self):
        said, wrong, _ = self.work("check", more="\n" + Unmarked.TABLE)
        self.assertEqual(wrong, 1)
        self.assertIn("page.md:16: UNMARKED NUMBERS", said)

    def test_filling_in_mends_it_and_nothing_else(self):
        _, _, page = self.work("fill", mape="0.0972")
        self.assertEqual(page, PAGE.format(mape="0.0826", tier="quick"))

    def test_what_takes_long_is_left_out_and_said(self):
        said, wrong, _ = self.work("check", tier="slow")
        self.assertIn("left out, tier slow", said)
        self.assertEqual((said.count("agrees"), wrong), (1, 0))

    def test_a_command_that_fails_leaves_the_page_as_it_is(self):
        failing = "\n<!-- from: false -->\n| a | .5 |\n<!-- end -->\n"
        said, wrong, page = self.work("fill", mape="0.0972", more=failing)
        self.assertIn("FAILED", said)
        self.assertEqual(wrong, 1)
        self.assertEqual(page, PAGE.format(mape="0.0826", tier="quick") + failing)

    def test_only_some_blocks(self):
        said, _, page = self.work("fill", mape="0.0972", only="echo")
        self.assertEqual(said.count("filled in"), 1)
        self.assertEqual(page, PAGE.format(mape="0.0972", tier="quick"))


if __name__ == "__main__":
    sys.exit(unittest.main())
