import { describe, expect, it } from "vitest";
import { isForPort, parsePortTarget } from "./port-target.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const TOKEN = "T".repeat(43);

const asked = (url: string, host = "localhost:6060") => ({ url, headers: { host }, rawHeaders: ["Host", host] });

describe("what is for a port", () => {
  it.each([
    asked("/", `8000-${ID}.localhost`),
    asked("/mcp", `8000-${ID}.LOCALHOST:6060`),
    asked("/mcp", "anything.localhost:6060"),
    asked("/ports"),
    asked("/ports?x"),
    asked("/ports/x"),
    asked(`/ports/${ID}/8000/mcp`),
  ])("$url at $headers.host", (request) => expect(isForPort(request)).toBe(true));

  it.each([
    asked("/"),
    asked("/mcp"),
    asked("/portsx"),
    asked("/v1/ports/"),
    asked("/", "localhost"),
    asked("/", "localhost.evil.example"),
  ])("is not $url at $headers.host", (request) => expect(isForPort(request)).toBe(false));
});

describe("a port's address", () => {
  it("is read from the host's name", () => {
    expect(parsePortTarget(asked("/a//b?x=1&x=2", `8000-${ID}.LocalHost:6060`))).toEqual({
      style: "host",
      sandbox: ID,
      port: 8000,
      prefix: "",
      base: "",
      path: "/a//b?x=1&x=2",
    });
  });

  it("is read from the path", () => {
    const base = `/ports/${ID}/80`;
    expect(parsePortTarget(asked(`${base}/a?b`))).toMatchObject({ style: "path", port: 80, prefix: base, base, path: "/a?b" });
    expect(parsePortTarget(asked(base))).toMatchObject({ path: "" });
    expect(parsePortTarget(asked(`${base}/~${TOKEN}/a`))).toMatchObject({
      prefix: `${base}/~${TOKEN}`,
      base,
      path: "/a",
      pathToken: TOKEN,
    });
    expect(parsePortTarget(asked(`${base}/~${TOKEN}`))).toMatchObject({ path: "", pathToken: TOKEN });
    expect(parsePortTarget(asked(`${base}/~someone/`))).toMatchObject({ prefix: base, path: "/~someone/" });
  });

  it("keeps a query byte for byte, but for the token", () => {
    const query = (text: string) => parsePortTarget(asked(`/x?${text}`, `80-${ID}.localhost`));
    expect(query(`a=%20+&belljar_token=${TOKEN}&b`)).toMatchObject({ path: "/x?a=%20+&b", queryToken: TOKEN });
    expect(query(`belljar_token=${TOKEN}`)).toMatchObject({ path: "/x", queryToken: TOKEN });
    expect(query(`belljar_token=one&belljar_token=two`)).toMatchObject({ path: "/x", queryToken: "one" });
    expect(query("xbelljar_token=1").queryToken).toBeUndefined();
  });

  it.each([
    asked("/", `08000-${ID}.localhost`),
    asked("/", `0-${ID}.localhost`),
    asked("/", `65536-${ID}.localhost`),
    asked("/", `8000-${ID}x.localhost`),
    asked("/", `x.8000-${ID}.localhost`),
    asked("/", `8000-${ID.slice(0, 8)}.localhost`),
    asked("/", `8000-${ID}..localhost`),
    asked("/ports/"),
    asked("/ports/x/80/"),
    asked(`/ports/${ID}/0/`),
    asked(`/ports/${ID}/080/`),
    asked(`/ports/${ID}/99999/`),
    asked(`/ports/${ID}/8000x`),
    asked(`/ports/${ID.toUpperCase()}/80/`),
    asked(`/ports/%61${ID.slice(1)}/80/`),
    asked(`/ports//${ID}/80/`),
    asked(`/ports/../ports/${ID}/80/`),
  ])("is not $url at $headers.host", (request) => {
    expect(() => parsePortTarget(request)).toThrow(expect.objectContaining({ code: "ROUTE_NOT_FOUND" }));
  });

  it("is refused if it is ambiguous", () => {
    const invalid = expect.objectContaining({ code: "ARGUMENTS_INVALID" });
    const request = asked(`http://evil.example/`, `80-${ID}.localhost`);
    expect(() => parsePortTarget(request)).toThrow(invalid);
    expect(() => parsePortTarget({ ...asked("/", `80-${ID}.localhost`), rawHeaders: ["Host", "a", "host", "b"] })).toThrow(invalid);
    expect(() => parsePortTarget({ ...asked(`/ports/${ID}/80/`), rawHeaders: [] })).toThrow(invalid);
  });
});
