import { expect, it } from "vitest";
import { LOCAL } from "../../../sandbox/sandbox.ts";
import { HubLinks, type LinkOwner } from "./hub-links.ts";

const owner = (label: string, uris: readonly string[], templates: readonly string[] = []): LinkOwner => ({
  label,
  name: label,
  uris: new Set(uris),
  templates: new Set(templates),
});
const open = (...owners: readonly LinkOwner[]): HubLinks => new HubLinks(() => owners);

it("writes a URI as its server does while one has it, and with the server when two have it", () => {
  const links = open(owner("a", ["x://own", "x://both"]), owner("b", ["x://both"]));
  expect([links.out(LOCAL, "a", "x://own"), links.out(LOCAL, "a", "x://both"), links.out(LOCAL, "b", "x://both")]).toEqual([
    "x://own",
    "belljar-mcp://a/x://both",
    "belljar-mcp://b/x://both",
  ]);
  expect(links.find(LOCAL, "x://own")).toEqual({ label: "a", uri: "x://own" });
  expect(links.find(LOCAL, "belljar-mcp://b/x://both")).toEqual({ label: "b", uri: "x://both" });
  expect(() => links.find(LOCAL, "x://both")).toThrow(
    expect.objectContaining({
      code: "RESOURCE_AMBIGUOUS",
      message: expect.stringContaining('belljar-mcp://a/x://both of the server "a", or belljar-mcp://b/x://both of the server "b"'),
    }),
  );
});

it("keeps the scheme ui, and gives no such URI two meanings", () => {
  const links = open(owner("a", ["ui://panel", "ui://b/panel"]), owner("b", ["ui://panel"]));
  const shown = [links.out(LOCAL, "a", "ui://panel"), links.out(LOCAL, "b", "ui://panel"), links.out(LOCAL, "a", "ui://b/panel")];
  expect(shown).toEqual(["ui://a/panel", "ui://b/panel", "ui://a/b/panel"]);
  expect(shown.map((uri) => links.find(LOCAL, uri))).toEqual([
    { label: "a", uri: "ui://panel" },
    { label: "b", uri: "ui://panel" },
    { label: "a", uri: "ui://b/panel" },
  ]);
});

it("leaves a server the URI that begins with its own name", () => {
  const links = open(owner("weather", ["ui://weather/map"]), owner("b", []));
  expect(links.out(LOCAL, "weather", "ui://weather/map")).toBe("ui://weather/map");
  expect(links.find(LOCAL, "ui://weather/map")).toEqual({ label: "weather", uri: "ui://weather/map" });
});

it.each(["belljar://sandboxes/", "BELLJAR://x", "belljar-mcp://b/x://y"])("lets no server speak as %s", (uri) => {
  const links = open(owner("a", [uri]), owner("b", ["x://y"]));
  expect(links.out(LOCAL, "a", uri)).toBe(`belljar-mcp://a/${uri}`);
  expect(links.find(LOCAL, uri)?.label).not.toBe("a");
  expect(links.find(LOCAL, `belljar-mcp://a/${uri}`)).toEqual({ label: "a", uri });
});

it("gives what no server lists to the one whose answer had it, and lets no answer take what another one lists", () => {
  const links = open(owner("a", ["x://listed"]), owner("b", []));
  expect(links.find(LOCAL, "x://linked")).toBeUndefined();
  expect(links.out(LOCAL, "b", "x://linked")).toBe("x://linked");
  expect(links.find(LOCAL, "x://linked")).toEqual({ label: "b", uri: "x://linked" });
  expect(links.find({ id: "other", name: "other" }, "x://linked")).toBeUndefined();
  expect(links.out(LOCAL, "b", "x://listed")).toBe("belljar-mcp://b/x://listed");
  expect(links.out(LOCAL, "a", "x://listed")).toBe("x://listed");
  expect(links.out(LOCAL, "a", "x://linked")).toBe("belljar-mcp://a/x://linked");
  expect(() => links.find(LOCAL, "x://linked")).toThrow(expect.objectContaining({ code: "RESOURCE_AMBIGUOUS" }));
});

it("remembers a bounded number of what was in answers", () => {
  const links = open(owner("a", []), owner("b", []));
  links.out(LOCAL, "a", "x://first");
  for (let number = 0; number < 10_000; number += 1) links.out(LOCAL, "a", `x://${number}`);
  expect(links.find(LOCAL, "x://first")).toBeUndefined();
  expect(links.find(LOCAL, "x://9999")).toEqual({ label: "a", uri: "x://9999" });
});

it("remembers of an answer no URI that is very long, and gives it with its server", () => {
  const links = open(owner("a", []), owner("b", []));
  const most = `x://${"x".repeat(4_092)}`;
  expect([links.out(LOCAL, "a", most), links.out(LOCAL, "a", `${most}x`)]).toEqual([most, `belljar-mcp://a/${most}x`]);
  expect([links.find(LOCAL, most), links.find(LOCAL, `${most}x`)]).toEqual([{ label: "a", uri: most }, undefined]);
  expect(links.find(LOCAL, `belljar-mcp://a/${most}x`)).toEqual({ label: "a", uri: `${most}x` });
});

it("remembers of each caller apart, and of a bounded number of callers", () => {
  const links = open(owner("a", []), owner("b", []));
  const caller = (id: string) => ({ id, name: id });
  links.out(caller("first"), "a", "x://1");
  for (let number = 0; number < 10_001; number += 1) links.out(caller("second"), "a", `x://${number}`);
  expect(links.find(caller("first"), "x://1")).toEqual({ label: "a", uri: "x://1" });
  for (let number = 0; number < 99; number += 1) links.out(caller(`later ${number}`), "a", "x://1");
  expect(links.find(caller("first"), "x://1")).toBeUndefined();
  expect(links.find(caller("second"), "x://10000")).toEqual({ label: "a", uri: "x://10000" });
});

it("finds the server whose template gives a URI", () => {
  const links = open(owner("a", [], ["x://{id}", "y://{id}"]), owner("b", ["x://1"], ["y://{id}"]));
  expect(links.find(LOCAL, "x://1")).toEqual({ label: "b", uri: "x://1" });
  expect(links.find(LOCAL, "x://2")).toEqual({ label: "a", uri: "x://2" });
  expect(() => links.find(LOCAL, "y://2")).toThrow(expect.objectContaining({ code: "RESOURCE_AMBIGUOUS" }));
  expect(links.relinkTemplates(LOCAL, "a")("x://{id}")).toBe("x://{id}");
  expect(links.relinkTemplates(LOCAL, "b")("y://{id}")).toBe("belljar-mcp://b/y://{id}");
  expect(links.findTemplate(LOCAL, "belljar-mcp://b/y://{id}")).toEqual({ label: "b", uri: "y://{id}" });
  expect(links.find(LOCAL, "belljar-mcp://b/y://2")).toEqual({ label: "b", uri: "y://2" });
});

it("asks who the caller's servers are once for all URIs, or templates, of an answer", () => {
  let asked = 0;
  const links = new HubLinks(() => ((asked += 1), [owner("a", ["x://1"], ["x://{id}"])]));
  const [relink, relinkTemplate] = [links.relink(LOCAL, "a"), links.relinkTemplates(LOCAL, "a")];
  for (let turn = 0; turn < 3; turn += 1) expect([relink("x://1"), relinkTemplate("x://{id}")]).toEqual(["x://1", "x://{id}"]);
  expect(asked).toBe(2);
});

it("asks the only server for what is in no list, and no one of several", () => {
  expect(open(owner("a", [])).find(LOCAL, "x://1")).toEqual({ label: "a", uri: "x://1" });
  expect(open(owner("a", []), owner("b", [])).find(LOCAL, "x://1")).toBeUndefined();
  expect(open().find(LOCAL, "x://1")).toBeUndefined();
});
