const ESCAPES: Readonly<Record<string, string>> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

/** Four for each byte of the longest path that there is. */
const QUOTED_MAX = 16_384;

/** A path as git quotes one that has odd characters: `"a/\303\251\t"`. The octal digits are bytes. What no path is so long for is cut. */
export function parseQuoted(text: string): string {
  const [, body = ""] = /^"((?:[^"\\]|\\.)*)"/s.exec(text.slice(0, QUOTED_MAX)) ?? [];
  const bytes = body.replace(/\\([0-7]{3}|.)/gs, (_match, escape: string) =>
    /^[0-7]{3}$/.test(escape) ? String.fromCharCode(Number.parseInt(escape, 8) & 0xff) : (ESCAPES[escape] ?? escape),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}
