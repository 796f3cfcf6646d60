import { expect, it } from "vitest";
import { hopByHop } from "./hop-by-hop.ts";

it.each([
  "Connection",
  "Keep-Alive",
  "Proxy-Connection",
  "TE",
  "Transfer-Encoding",
  "Upgrade",
  "Trailer",
  "Proxy-Authenticate",
  "Proxy-Authentication-Info",
  "Proxy-Authorization",
  "HTTP2-Settings",
])("passes %s on for nobody, however it is written", (name) => {
  const isHop = hopByHop(undefined);
  for (const written of [name, name.toLowerCase(), name.toUpperCase(), name.replaceAll("-", "_")]) expect(isHop(written)).toBe(true);
});

it("keeps end-to-end headers", () => {
  const isHop = hopByHop("close");
  for (const name of ["Accept", "Authorization", "Cookie", "Content-Encoding", "Content-Type", "Expect", "Host", "Via", "X-Upgrade"])
    expect(isHop(name)).toBe(false);
});

it("removes the headers that Connection names, in any case and with any spaces", () => {
  const isHop = hopByHop("close, X-One ,\tx-TWO,,authorization,content-type");
  for (const name of ["x-one", "X-Two", "Authorization", "Content-Type", "close"]) expect(isHop(name)).toBe(true);
  for (const name of ["x-three", "x_one"]) expect(isHop(name)).toBe(false);
});

it("keeps the headers that tell the target and the end of a message", () => {
  const isHop = hopByHop("host, content-length, Content-Length");
  expect([isHop("Host"), isHop("Content-Length")]).toEqual([false, false]);
});
