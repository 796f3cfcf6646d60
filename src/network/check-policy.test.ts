import { expect, it } from "vitest";
import { checkNetworkPolicy, narrows, parseNetworkPolicy } from "./check-policy.ts";
import { describeSets } from "./named-sets.ts";
import { parseRule } from "./rules.ts";

it.each([
  ["Example.COM", "example.com"],
  ["example.com.", "example.com"],
  ["*.Example.com:8443", "*.example.com:8443"],
  ["https://example.com", "https://example.com"],
  ["http://example.com:80", "http://example.com:80"],
  ["get+HEAD https://api.example.com/v1/", "GET+HEAD https://api.example.com/v1"],
  ["https://example.com/a/../b/./c", "https://example.com/b/c"],
  ["example.com/", "example.com"],
  ["bücher.example", "xn--bcher-kva.example"],
  ["раура1.com", "xn--1-7sba6dbr.com"],
  ["2130706433:80", "127.0.0.1:80"],
  ["0x7f.1:80", "127.0.0.1:80"],
  ["[::FFFF:10.0.0.1]:80", "10.0.0.1:80"],
  ["[2001:DB8:0::1]:443", "[2001:db8::1]:443"],
  ["NPM", "npm"],
  ["localhost:3000", "localhost:3000"],
])("writes the rule %s as %s", (written, canonical) => {
  expect(parseRule(written).text).toBe(canonical);
  expect(parseRule(canonical).text).toBe(canonical);
});

const WHOLE = { isWildcard: false, isExact: false };

it.each([
  [
    "example.com",
    [
      { ...WHOLE, rule: "example.com", host: "example.com", scheme: "http", port: 80 },
      { ...WHOLE, rule: "example.com", host: "example.com", scheme: "https", port: 443 },
    ],
  ],
  ["http://example.com", [{ ...WHOLE, rule: "http://example.com", host: "example.com", scheme: "http", port: 80 }]],
  ["1.1.1.1:53", [{ ...WHOLE, isExact: true, rule: "1.1.1.1:53", host: "1.1.1.1", scheme: "any", port: 53 }]],
  ["*.example.com:8443", [{ ...WHOLE, isWildcard: true, rule: "*.example.com:8443", host: "example.com", scheme: "any", port: 8443 }]],
  [
    "head+GET https://example.com:81/v1/",
    [
      {
        ...WHOLE,
        isExact: true,
        rule: "GET+HEAD https://example.com:81/v1",
        host: "example.com",
        scheme: "https",
        port: 81,
        methods: ["GET", "HEAD"],
        path: "/v1",
      },
    ],
  ],
])("allows with the rule %s what it says, and no more", (rule, allowances) => {
  expect(parseRule(rule).allowances).toEqual(allowances);
});

it("names a set as the rule of all that it allows", () => {
  const { allowances } = parseRule("pypi");
  expect(new Set(allowances.map(({ rule }) => rule))).toEqual(new Set(["pypi"]));
  expect(allowances.map(({ host, scheme }) => `${scheme}://${host}`)).toEqual(["https://pypi.org", "https://files.pythonhosted.org"]);
});

it.each([
  "example.com:1",
  "example.com:65535",
  "1.1.1.1",
  "[2606:4700::1111]",
  "localhost:80",
  `example.com/${"a".repeat(500)}`,
  "example.com/8",
])("takes the rule %j", (written) => {
  expect(parseRule(written).text).toBe(written);
});

it.each([
  "*",
  "*.com",
  "*.co.uk",
  "*.github.io",
  "*.test",
  "*.10.0.0.1",
  "*.1.1.1.1:53",
  "a.*.com",
  "",
  " ",
  `${"a".repeat(300)}.com`,
  `example.com/${"a".repeat(501)}`,
  "all",
  "*.localhost",
  "example.com:0",
  "example.com:65536",
  "ftp://example.com",
  "user@example.com",
  "example.com/a?b",
  "example.com/%2f",
  "example.com/a%5cb",
  "exa mple.com",
  "example.com\r\nHost: b",
  "exa\tmple.com",
  "[fe80::1%eth0]:80",
  "example..com",
  "localhost",
  "none",
  "10.0.0.0/8:80",
  "93.184.215.0/24",
  "127.0.0.1",
  "169.254.169.254",
  "[::1]",
  "FETCH https://example.com",
])("refuses the rule %j", (written) => {
  expect(() => parseRule(written)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("parses policies in the form that people write", () => {
  expect(parseNetworkPolicy("none")).toBe("none");
  expect(parseNetworkPolicy(" all ")).toBe("all");
  expect(parseNetworkPolicy("npm, Example.com:8080,example.com:8080")).toEqual({ allow: ["npm", "example.com:8080"] });
});

it.each(["", "all,example.com:x", "none,"])("refuses the policy %j", (text) => {
  expect(() => parseNetworkPolicy(text)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it.each([
  null,
  1,
  "some",
  [],
  {},
  { allow: "a.com" },
  { allow: [1] },
  { allow: [] },
  { allow: ["a.com"], deny: [] },
  { allow: Array.from({ length: 257 }, () => "a.com") },
])("refuses %j as a policy", (value) => {
  expect(() => checkNetworkPolicy(value)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
});

it("takes 256 rules, and nothing that is no list of rules", () => {
  const allow = Array.from({ length: 256 }, (_, index) => `h${index}.test`);
  expect(checkNetworkPolicy({ allow })).toEqual({ allow });
});

it("has sets whose rules all parse, each with a reason", () => {
  for (const { name, rules } of describeSets()) {
    expect(parseRule(name).allowances.length).toBeGreaterThanOrEqual(rules.length);
    for (const { rule, reason } of rules) expect([parseRule(rule).text, reason]).toEqual([rule, expect.stringMatching(/\w/)]);
  }
});

it.each([
  [["a.example.com"], ["*.example.com"], true],
  [["example.com"], ["*.example.com"], false],
  [["*.b.example.com"], ["*.example.com"], true],
  [["*.example.com"], ["*.b.example.com"], false],
  [["*.example.com"], ["example.com"], false],
  [["https://example.com"], ["example.com"], true],
  [["example.com"], ["https://example.com"], false],
  [["GET https://example.com/a/b"], ["GET+POST https://example.com/a"], true],
  [["https://example.com/a/b"], ["GET https://example.com/a"], false],
  [["https://example.com/ab"], ["https://example.com/a"], false],
  [["https://registry.npmjs.org"], ["npm"], true],
  [["npm", "pypi"], ["npm"], false],
  [["https://example.com:81"], ["example.com:81"], true],
  [["https://example.com:81"], ["http://example.com:81"], false],
  [["example.com:81"], ["example.com:82"], false],
  [["GET https://example.com"], ["POST https://example.com"], false],
  [["GET+POST https://example.com"], ["GET https://example.com"], false],
  [["https://example.com"], ["https://example.com/a"], false],
  [["https://example.com/a"], ["https://example.com/a"], true],
  [["*.example.com"], ["*.example.com"], true],
  [["a.test"], ["b.test", "a.test"], true],
  [["example.com:8080"], ["example.com:8080"], true],
  [["example.com:8080"], ["*.example.com:8080"], false],
])("knows whether %j lies within %j: %j", (policy, ceiling, expected) => {
  expect(narrows({ allow: policy }, { allow: ceiling })).toBe(expected);
});

it("treats all as a ceiling of all public places, and none as a ceiling of nothing", () => {
  expect(narrows({ allow: ["example.com"] }, "all")).toBe(true);
  expect(narrows({ allow: ["127.0.0.1:22"] }, "all")).toBe(false);
  expect(narrows("none", "none")).toBe(true);
  expect(narrows({ allow: ["example.com"] }, "none")).toBe(false);
  expect(narrows("all", { allow: ["example.com"] })).toBe(false);
});

it("takes a whole policy as it is, and no other word", () => {
  expect([checkNetworkPolicy("none"), checkNetworkPolicy("all")]).toEqual(["none", "all"]);
  for (const value of [
    "",
    "some",
    "ALL",
    { allow: "all" },
    { allow: [1] },
    { allow: [], more: 1 },
    { allow: ["good.test"], more: 1 },
    null,
    undefined,
    7,
  ])
    expect(() => checkNetworkPolicy(value), JSON.stringify(value)).toThrow(expect.objectContaining({ code: "ARGUMENTS_INVALID" }));
  expect(checkNetworkPolicy({ allow: ["GOOD.test", "good.test", "a.test"] })).toEqual({ allow: ["good.test", "a.test"] });
});

it.each([
  ["none", "is a whole policy"],
  ["all", "is a whole policy"],
  ["*", "give the policy all"],
  ["db", "a name without a dot is of this machine's own network"],
  ["10.0.0.1", "must name its port too"],
  ["10.0.0.0/8", "not for a range of them"],
  ["good.test:0", "a port is 1 to 65535"],
  ["good.test:65536", "a port is 1 to 65535"],
  ["*.1.1.1.1:80", "an address has no names below it"],
  ["*.com", "anybody can register"],
  ["*.co.uk", "anybody can register"],
  ["*.github.io", "anybody can register"],
  ["TRACE http://good.test", "is not a method"],
  ["http://good.test/a?b", "has no query"],
  ["ftp://good.test", "write host[:port]"],
])("says what is wrong with the rule %s", (rule, why) => {
  expect(() => parseRule(rule)).toThrow(
    expect.objectContaining({ code: "ARGUMENTS_INVALID", message: expect.stringContaining(why) as string }),
  );
});

it("takes ports from 1 to 65535, and rules of 512 characters", () => {
  expect(["good.test:1", "good.test:65535"].map((rule) => parseRule(rule).text)).toEqual(["good.test:1", "good.test:65535"]);
  const rule = `good.test/${"a".repeat(502)}`;
  expect(parseRule(rule).text).toBe(rule);
  expect(() => parseRule(`${rule}a`)).toThrow(/write host/);
});
