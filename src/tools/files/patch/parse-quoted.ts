const ESCAPES: Readonly<Record<string, string>> = { a: "\x07", b: "\b", t: "\t", n: "\n", v: "\v", f: "\f", r: "\r" };

/** A path as git quotes one that has odd characters: `"a/\303\251\t"`. The octal digits are bytes. */
export function parseQuoted(text: string): string {
  const [, body = ""] = /^"((?:[^"\\]|\\.)*)"/s.exec(text) ?? [];
  const bytes = body.replace(/\\([0-7]{3}|.)/gs, (_match, escape: string) =>
    /^[0-7]{3}$/.test(escape) ? String.fromCharCode(Number.parseInt(escape, 8) & 0xff) : (ESCAPES[escape] ?? escape),
  );
  return Buffer.from(bytes, "latin1").toString("utf8");
}
