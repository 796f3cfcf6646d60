/** As much as one request holds, with some room for the escapes of JSON. */
const LARGE = 3_000_000;
/** Of what JSON writes as six characters each. */
const ESCAPED = 400_000;
/** A quadratic reader takes seconds over it, and a linear one no time. */
const RUN = 30_000;

/** What a pattern may run along, and fail at the end of. */
const RUNS = ["a", "0", " ", "\t", "/", "\\", ":", "@", ".", "-", '"', "'", "[", "{", "(", "<", "*", "=", ",", "%", "#", "\r"];
const PAIRS = ["a+://", "://:@", "a.", "a-", "a=", " \t", "a/", "../", "[a", '"\\', "<!--", "**/", "{a,b}", "a\r", "%41", "&a=a"];

const EQUAL_FILE = "--- a/equal-lines.txt\n+++ b/equal-lines.txt\n";

/**
 * Texts that cost a careless reader far more than their size: each of them fits into one request, and is the content of a file as
 * well. What a text does to one tool nobody needs to know: every field of every tool is given all of them.
 */
export const HOSTILE_TEXTS: Readonly<Record<string, () => string>> = {
  "runs of one character": () => [...RUNS, ...PAIRS].map((run) => `${run.repeat(RUN / run.length)}\x7f\n`).join(""),
  "a line of 3 MB": () => "a".repeat(LARGE),
  "blanks of 2 MB": () => `${" \t".repeat(LARGE / 3)}x`,
  "letters that repeat for 3 MB without a break": () => "abcdefghijklmnopqrstuvwxyz0123456789+/".repeat(LARGE / 38),
  "a million equal lines": () => "a\n".repeat(1_000_000),
  "a million empty lines": () => "\n".repeat(1_000_000),
  "a patch of a million equal lines": () => `${EQUAL_FILE}@@ -1,700001 +1,700001 @@\n${" a\n".repeat(700_000)}-z\n+b\n`,
  "a patch with many hunks": () => EQUAL_FILE + "@@ -1,3 +1,3 @@\n a\n-a\n+b\n a\n".repeat(80_000),
  "a patch of many files": () => "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n".repeat(70_000),
  "a pattern that backtracks": () => `${"*a".repeat(100)}/${"{a,b}".repeat(20)}/${"**/".repeat(300)}(a+)+(a|a)*$`,
  "JSON that nests": () => `${'{"a":['.repeat(RUN)}${"]}".repeat(RUN)}`,
  "JSON with a million items": () => `[${"0,".repeat(1_000_000)}0]`,
  "JSON with 100,000 keys": () => JSON.stringify(Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, index]))),
  "a number of a million digits": () => "9".repeat(1_000_000),
  "halves of surrogates and NULs": () => "\ud800\0".repeat(ESCAPED / 2),
  "terminal colours": () => "\u001b[31m\u001b[0m".repeat(150_000),
  "marks on letters": () => `e${"\u0301".repeat(LARGE / 4)}${"\u202e\u2066".repeat(LARGE / 12)}`,
  "tags without an end": () => "<a <!-- ".repeat(LARGE / 8),
  "a command that writes one line for ever": () => "tr '\\0' a </dev/zero",
  "a command that writes lines for ever": () => "yes",
  "a program that writes for ever": () => "while 1: print('a' * 60000)",
};

/** The few that show what a field does that takes no long text. */
export const SHORT_TEXTS: readonly string[] = ["a pattern that backtracks", "halves of surrogates and NULs"];

/** The beginning of a text without what an address or a header may not hold. */
export function toAscii(text: string, length: number): string {
  return text.slice(0, length).replaceAll(/[^\x21-\x7e]/g, "_");
}
