import { describe, expect, it } from "vitest";
import { beginEscape, NOTHING, OUTSIDE, stepEscape } from "./escapes.ts";

const UNIT_MAX = 0x10_ff_ff;

/**
 * Decodes the escape that a text begins with: its character, and how many characters of the text it takes. Undefined if the text
 * begins with none.
 */
function decode(text: string, most = UNIT_MAX): { readonly decoded: string; readonly length: number } | undefined {
  const units = Array.from(text, (sign) => sign.codePointAt(0) ?? 0);
  let state = beginEscape(units[0] ?? 0);
  for (let index = 1; index < units.length && state !== OUTSIDE; index += 1) {
    const step = stepEscape(state, units[index] ?? 0, most);
    if (step === undefined) return undefined;
    state = step.state;
    if (state !== OUTSIDE) continue;
    return { decoded: step.unit === NOTHING ? "" : String.fromCodePoint(step.unit), length: step.isUnread ? index : index + 1 };
  }
  return undefined;
}

describe("an escape", () => {
  it.each([
    ["%3C", "<"],
    ["%3c", "<"],
    ["%7e", "~"],
    ["%00", "\0"],
    ["%fF", "\u00ff"],
    ["=3D", "="],
    ["=\n", ""],
    ["=\r\n", ""],
    ["\\u003c", "<"],
    ["\\uFFFF", "\uffff"],
    ["\\U0000003c", "<"],
    ["\\U0010ffff", "\u{10ffff}"],
    ["\\x3c", "<"],
    ["\\x3C", "<"],
    ["\\u{3c}", "<"],
    ["\\u{0}", "\0"],
    ["\\u{0000003c}", "<"],
    ["\\u{10ffff}", "\u{10ffff}"],
    ["\\074", "<"],
    ["\\000", "\0"],
    ["\\377", "\u00ff"],
    ["\\n", "\n"],
    ["\\r", "\r"],
    ["\\t", "\t"],
    ['\\"', '"'],
    ["\\ ", " "],
    ["\\~", "~"],
    ["\\\\", "\\"],
    ["\\@", "@"],
    ["\\[", "["],
    ["\\`", "`"],
    ["\\{", "{"],
    ["\\/", "/"],
    ["\\:", ":"],
    ["&#60;", "<"],
    ["&#060;", "<"],
    ["&#000000000060;", "<"],
    ["&#x3c;", "<"],
    ["&#X3C;", "<"],
    ["&#x00000000003c;", "<"],
    ["&#1114111;", "\u{10ffff}"],
  ])("%j is %j", (text, decoded) => {
    expect(decode(`${text}0;}`)).toEqual({ decoded, length: text.length });
  });

  it.each([
    "3C",
    "%",
    "%3",
    "%3g",
    "%g3",
    "%:0",
    "%/0",
    "%`0",
    "=3",
    "=\r",
    "=\r0",
    "\\u003",
    "\\u00g0",
    "\\U0000003",
    "\\U00110000",
    "\\x3",
    "\\x{3c}",
    "\\U{3c}",
    "\\u0{3c}",
    "\\u{}",
    "\\u{3g}",
    "\\u{3c",
    "\\u{110000}",
    "\\u{00000003c}",
    "\\474",
    "\\04",
    "\\048",
    "\\04/",
    "\\a",
    "\\z",
    "\\A",
    "\\Z",
    "\\8",
    "\\\u0019",
    "\\\u007f",
    "&",
    "&#",
    "&#;",
    "&#x;",
    "&#a;",
    "&#y3c;",
    "&#1114112;",
    "&#x110000;",
    "&#0000000000060;",
    "&;",
    "&nosuch;",
    "&apo;",
    "&aposs;",
  ])("%j is none", (text) => {
    expect(decode(text)).toBeUndefined();
  });

  it.each([
    ["&#60 ", "<", 4],
    ["&#x3cg", "<", 5],
    ["&lt ", "<", 3],
    ["&LTa", "<", 3],
    ["&amp=", "&", 4],
  ])("%j ends without its semicolon", (text, decoded, length) => {
    expect(decode(text)).toEqual({ decoded, length });
  });
});

/** HTML's names of the characters that are no letters and digits, as its standard lists them. */
const NAMED = {
  "!": ["excl"],
  '"': ["quot", "QUOT"],
  "#": ["num"],
  $: ["dollar"],
  "%": ["percnt"],
  "&": ["amp", "AMP"],
  "'": ["apos"],
  "(": ["lpar"],
  ")": ["rpar"],
  "*": ["ast", "midast"],
  "+": ["plus"],
  ",": ["comma"],
  ".": ["period"],
  "/": ["sol"],
  ":": ["colon"],
  ";": ["semi"],
  "<": ["lt", "LT"],
  "=": ["equals"],
  ">": ["gt", "GT"],
  "?": ["quest"],
  "@": ["commat"],
  "[": ["lsqb", "lbrack"],
  "\\": ["bsol"],
  "]": ["rsqb", "rbrack"],
  "^": ["Hat"],
  _: ["lowbar", "UnderBar"],
  "`": ["grave"],
  "{": ["lcub", "lbrace"],
  "|": ["verbar", "vert", "VerticalLine"],
  "}": ["rcub", "rbrace"],
};

describe.each(Object.entries(NAMED))("the names of %s in HTML", (sign, names) => {
  it.each(names)("%s", (name) => {
    expect(decode(`&${name};`)).toEqual({ decoded: sign, length: name.length + 2 });
    const isOpen = ["amp", "lt", "gt", "quot"].includes(name.toLowerCase());
    expect(decode(`&${name} `)).toEqual(isOpen ? { decoded: sign, length: name.length + 1 } : undefined);
  });
});

it("an escape that can only decode to a higher character than the highest one wanted is none, as early as that is known", () => {
  const stepsUntilRefused = (text: string, most: number): number => {
    let state = beginEscape(text.charCodeAt(0));
    for (let index = 1; index < text.length; index += 1) {
      const step = stepEscape(state, text.charCodeAt(index), most);
      if (step === undefined) return index;
      state = step.state;
    }
    return text.length;
  };
  expect(stepsUntilRefused("%7f", 0x7e)).toBe(2);
  expect(stepsUntilRefused("%80", 0x7e)).toBe(1);
  expect(stepsUntilRefused("%7e", 0x7e)).toBe(3);
  expect(stepsUntilRefused("\\u1000", 0x7e)).toBe(2);
  expect(stepsUntilRefused("\\u0100", 0x7e)).toBe(3);
  expect(stepsUntilRefused("\\200", 0x7e)).toBe(1);
  expect(stepsUntilRefused("\\177", 0x7e)).toBe(3);
  expect(stepsUntilRefused("\\176", 0x7e)).toBe(4);
  expect(stepsUntilRefused("&#127;", 0x7e)).toBe(4);
  expect(stepsUntilRefused("&#126;", 0x7e)).toBe(6);
  expect(stepsUntilRefused("&verbar;", 0x7c)).toBe(8);
  expect(stepsUntilRefused("&verbar;", 0x7b)).toBe(7);
});
