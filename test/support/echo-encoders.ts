import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { stringify } from "node:querystring";
import { inspect } from "node:util";

const PIECE_CHARACTERS = 16;
const FIXTURES = join(import.meta.dirname, "../fixtures");

/** A text as one encoder of a real language or library writes it. */
export interface EncodedText {
  readonly encoder: string;
  readonly bytes: Buffer;
}

/** Each text in every encoding: first those of all encoders for the first text, and so on. */
export function encodeEverywhere(texts: readonly string[]): readonly (readonly EncodedText[])[] {
  const [python, perl] = [
    runEncoders("/usr/bin/python3", "echo-encoders.py", texts),
    runEncoders("/usr/bin/perl", "echo-encoders.pl", texts),
  ];
  return texts.map((text, index) => [
    ...(python[index] ?? []),
    ...(perl[index] ?? []),
    ...encodeHere("Node", NODE, text),
    ...encodeHere("", DOCUMENTED, text),
  ]);
}

/** Pieces of what an encoder made of one text that are in nothing that it made of another: whoever sees one knows something of the text. */
export function tellingPieces(one: Buffer, other: Buffer): readonly string[] {
  const [text, control] = [one.toString("latin1"), other.toString("latin1")];
  const pieces = Array.from({ length: Math.max(1, text.length - PIECE_CHARACTERS + 1) }, (_, at) => text.slice(at, at + PIECE_CHARACTERS));
  return [...new Set(pieces)].filter((piece) => !control.includes(piece));
}

function runEncoders(program: string, file: string, texts: readonly string[]): readonly (readonly EncodedText[])[] {
  const out = execFileSync(program, [join(FIXTURES, file)], { input: JSON.stringify(texts), encoding: "utf8" });
  const forms = JSON.parse(out) as readonly Readonly<Record<string, string>>[];
  return forms.map((form) =>
    Object.entries(form).map(([name, bytes]) => ({
      encoder: `${program.split("/").at(-1)}: ${name}`,
      bytes: Buffer.from(bytes, "base64"),
    })),
  );
}

type Encoders = Readonly<Record<string, (text: string) => string>>;

function encodeHere(language: string, encoders: Encoders, text: string): readonly EncodedText[] {
  return Object.entries(encoders).map(([name, encode]) => ({
    encoder: `${language}${language && ": "}${name}`,
    bytes: Buffer.from(encode(text)),
  }));
}

const NODE: Encoders = {
  "JSON.stringify": (text) => JSON.stringify({ key: text }),
  "JSON.stringify three times": (text) => JSON.stringify(JSON.stringify(text)),
  "JSON.stringify of a Buffer": (text) => JSON.stringify(Buffer.from(text)),
  encodeURIComponent,
  encodeURI,
  escape: (text) => globalThis.escape(text),
  URLSearchParams: (text) => new URLSearchParams({ key: text }).toString(),
  querystring: (text) => stringify({ key: text }),
  "inspect of a Buffer": (text) => inspect(Buffer.from(text)),
  "Buffer, base64url": (text) => Buffer.from(`<${text}>`).toString("base64url"),
};

const hex = (character: string): string => (character.codePointAt(0) ?? 0).toString(16);
const uppercaseUnicode = (character: string): string => `\\u${hex(character).toUpperCase().padStart(4, "0")}`;
const entity = (character: string): string => `&#x${hex(character).toUpperCase()};`;
const HTML5: Readonly<Record<string, string>> = {
  "&": "amp",
  "<": "lt",
  ">": "gt",
  '"': "quot",
  "'": "apos",
  "+": "plus",
  "/": "sol",
  "=": "equals",
  "]": "rsqb",
  "\\": "bsol",
  ".": "period",
  _: "lowbar",
};

/** The rules of languages that are not run here, each as its source has it. */
const DOCUMENTED: Encoders = {
  // go/src/encoding/json/encode.go: HTMLEscape, and \u00XX in lower case.
  "Go: encoding/json": (text) => JSON.stringify(text).replaceAll(/[<>&]/g, (sign) => `\\u00${hex(sign)}`),
  // go/src/html/escape.go
  "Go: html.EscapeString": (text) =>
    text.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&#34;"),
  // go/src/text/template/funcs.go: JSEscapeString
  "Go: template.JSEscape": (text) => text.replaceAll(/[\\'"]/g, String.raw`\$&`).replaceAll(/[<>&=]/g, (sign) => uppercaseUnicode(sign)),
  // System.Text.Encodings.Web: JavaScriptEncoder.Default lets letters, digits and a few signs through.
  ".NET: System.Text.Json": (text) =>
    text
      .replaceAll(/[^ !#$%()*,\-./0-9:;=?@A-Z[\]^_a-z{|}~\\]/g, uppercaseUnicode)
      .replaceAll("\\u", "\u0000")
      .replaceAll("\\", "\\\\")
      .replaceAll("\u0000", "\\u"),
  // System.Text.Encodings.Web: HtmlEncoder.Default
  ".NET: HtmlEncoder": (text) =>
    text.replaceAll(/[&<>"]|[^ !#$%()*,\-./0-9:;=?@A-Z[\\\]^_a-z{|}~]/g, (sign) =>
      HTML5[sign] && sign !== "'" && sign !== "+" ? `&${HTML5[sign]};` : entity(sign),
    ),
  // php-src/ext/json/json_encoder.c: slashes are escaped unless asked otherwise.
  "PHP: json_encode": (text) =>
    JSON.stringify(text)
      .replaceAll("/", String.raw`\/`)
      .replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${hex(unit).padStart(4, "0")}`),
  // php-src/ext/standard/html.c
  "PHP: htmlspecialchars": (text) =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;").replaceAll("'", "&#039;"),
  // php-src/ext/standard/html_tables.h
  "PHP: htmlentities, ENT_HTML5": (text) => text.replaceAll(/[&<>"'+/=\]\\._]/g, (sign) => `&${HTML5[sign]};`),
  // rails/activesupport/lib/active_support/json/encoding.rb
  "Rails: to_json": (text) => JSON.stringify(text).replaceAll(/[<>&]/g, (sign) => `\\u00${hex(sign)}`),
  // OWASP Java Encoder: Encode.forJavaScript
  "OWASP: forJavaScript": (text) =>
    text
      .replaceAll("\\", "\\\\")
      .replaceAll(/["'&]/g, (sign) => `\\x${hex(sign)}`)
      .replaceAll("/", String.raw`\/`)
      .replaceAll("-", String.raw`\-`),
};
