import { expect, it } from "vitest";
import { summarise } from "./audit.ts";
import { REDACTED, redactText } from "./redact.ts";

const previewOf = (args: unknown): string => summarise(args).preview;

it("leaves out values that are named as secrets, at any depth", () => {
  const preview = previewOf({
    url: "https://example.org",
    credential: { password: "planted" },
    arguments: { token: "planted", deep: { apiKey: "planted" } },
  });
  expect(preview).toContain("https://example.org");
  expect(preview).not.toContain("planted");
});

it("shows values as they are, and of what is deep or long the beginning", () => {
  const plain = { text: "a", list: [1, "b", [true, null]], map: { c: { d: 2 } } };
  expect(previewOf(plain)).toBe(JSON.stringify(plain));
  expect(previewOf({ a: { b: { c: { d: { e: 1 } } } } })).toBe('{"a":{"b":{"c":{"d":"..."}}}}');
  expect(previewOf({ a: [[[{}]]] })).toBe('{"a":[[["..."]]]}');
  expect(previewOf(undefined)).toBe("null");
});

it("leaves out the user and password of a URL, at any position", () => {
  const url = "https://ann:planted@example.org/x.git";
  expect(previewOf({ url })).toBe('{"url":"https://[redacted]@example.org/x.git"}');
  expect(previewOf({ command: `git clone ${url} && git clone ${url}` })).not.toContain("planted");
  for (let length = 100; length < 200; length += 1) expect(previewOf({ command: `${"x".repeat(length)} ${url}` })).not.toContain("planted");
  expect(previewOf({ command: `${"x".repeat(150)} https://ann:${"planted".repeat(200)}@example.org` })).not.toContain("planted");
});

/** Each is recognisable as a secret only as a whole. */
const WHOLE = [
  "eyJplanted0planted0planted0planted0.eyJwbGFudGVk.sig0sig0",
  "ghp_planted0123456789",
  "AKIAPLANTED012345678",
  "belljar_abcdefghij_planted01234567",
  "bearer planted0123456789",
];

it.each(WHOLE)("shows no beginning of %s at the cut of a long value", (secret) => {
  for (let length = 100; length < 200; length += 1) {
    const preview = previewOf({ command: `${"x".repeat(length)} ${secret} ${"y".repeat(600)}` });
    expect(preview, String(length)).toContain("x".repeat(100));
    expect(preview, String(length)).not.toMatch(/plant/i);
  }
});

it.each(WHOLE)("shows no beginning of %s where the search of a long value ends", (secret) => {
  for (let length = 500; length < 700; length += 1)
    expect(previewOf({ command: `run --token=${"x".repeat(length)} ${secret} ${"y".repeat(600)}` }), String(length)).not.toMatch(/plant/i);
});

it("keeps the beginning of a long value", () => {
  for (const length of [161, 500, 5_000])
    expect(previewOf({ text: "a".repeat(length) })).toBe(`{"text":"${"a".repeat(160)}... (${length} characters)"}`);
});

it.each([
  ["curl -H 'Authorization: Bearer planted-value' https://example.org", "curl -H 'Authorization: Bearer [redacted]' https://example.org"],
  ["API_KEY=planted node main.js", "API_KEY=[redacted] node main.js"],
  ["export DB_PASSWORD='pl anted' && run", "export DB_PASSWORD=[redacted] && run"],
  ["login --password planted --user ann", "login --password [redacted] --user ann"],
  ['{"api_key": "planted", "size": 3}', '{"api_key": [redacted], "size": 3}'],
  ["https://example.org/?access_token=planted&page=2", "https://example.org/?access_token=[redacted]&page=2"],
  ["echo ghp_planted0123456789 eyJplanted0.eyJwbGFudGVk.sig0", "echo [redacted] [redacted]"],
  ["belljar_abcdefghij_planted01234567", "[redacted]"],
  ["print(tokens, 'keyboard'); the secret garden", "print(tokens, 'keyboard'); the secret garden"],
])("leaves the secrets out of %s", (text, shown) => {
  expect(previewOf(text)).toBe(JSON.stringify(shown));
});

it.each([
  ["the end of a name", `token${"x".repeat(40)}=planted`, `token${"x".repeat(41)}=planted`],
  ["the header of a web token", `eyJ${"x".repeat(8)}.planted`, `eyJ${"x".repeat(8)}`],
])("looks no further for %s than it has to, however many begin in a text", (_what, one, other) => {
  // Of each the second would be looked through to its end, for nothing.
  expect([redactText(one).includes("planted"), redactText(other).includes(REDACTED)]).toEqual([false, !other.includes("planted")]);
});
