import { describe, expect, it } from "vitest";
import { toInnerCookies, toOuterCookie } from "./port-cookies.ts";
import type { PortTarget } from "./port-target.ts";

const ID = "a1b2c3d4e5f6g7h8i9j0";
const BY_HOST: PortTarget = { style: "host", sandbox: ID, port: 80, path: "/", prefix: "", base: "" };
const base = `/ports/${ID}/80`;
const BY_PATH: PortTarget = { ...BY_HOST, style: "path", base, prefix: `${base}/~t` };

describe("cookies that a program sets", () => {
  it("hold for its own host name", () => {
    expect(toOuterCookie("a=1; Domain=localhost; Path=/x; HttpOnly", BY_HOST)).toBe("a=1; Path=/x; HttpOnly");
    expect(toOuterCookie("a=1;domain = localhost;Secure", BY_HOST)).toBe("a=1; Secure");
  });

  it("hold for its own path, under its own name", () => {
    expect(toOuterCookie("a=1; Path=/; Domain=localhost; HttpOnly", BY_PATH)).toBe(`port.80-${ID}.a=1; HttpOnly; Path=${base}/`);
    expect(toOuterCookie("a=b=c; pAtH=/v1", BY_PATH)).toBe(`port.80-${ID}.a=b=c; Path=${base}/`);
  });

  it("are refused under Belljar's own names", () => {
    for (const target of [BY_HOST, BY_PATH]) {
      for (const cookie of [
        "belljar-port=x",
        "Belljar_session=x",
        " belljar=x",
        "belljar-port =x",
        "=belljar-port=x",
        "belljar-port",
        "",
      ]) {
        expect(toOuterCookie(cookie, target)).toBeUndefined();
      }
    }
  });

  it("are refused in path style under names that are bound to another path", () => {
    for (const cookie of ["__Host-a=1; Path=/; Secure", "__secure-a=1; Secure", "__Http-a=1"])
      expect(toOuterCookie(cookie, BY_PATH)).toBeUndefined();
    expect(toOuterCookie("__Host-a=1; Path=/; Secure", BY_HOST)).toBe("__Host-a=1; Path=/; Secure");
  });
});

describe("cookies that a program sees", () => {
  it("are not the link's token", () => {
    expect(toInnerCookies("a=1; belljar-port=T; b=2; Belljar-x=3", BY_HOST)).toBe("a=1; b=2");
    expect(toInnerCookies("belljar-port=T", BY_HOST)).toBeUndefined();
  });

  it("are in path style only the program's own cookies", () => {
    const header = `session=dashboard; port.80-${ID}.a=1; port.81-${ID}.a=2; port.80-${"x".repeat(20)}.a=3; belljar-port=T`;
    expect(toInnerCookies(header, BY_PATH)).toBe("a=1");
    expect(toInnerCookies("session=dashboard", BY_PATH)).toBeUndefined();
  });
});
