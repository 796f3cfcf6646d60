import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import { describe, expect, it } from "vitest";
import type { BelljarError } from "../../errors.ts";
import { LOCAL } from "../../sandbox/sandbox.ts";
import type { Principal } from "../../sandbox/sandbox.ts";
import type { TokenVerifier } from "./authenticate.ts";
import { bearerOf, createAuthenticate } from "./authenticate.ts";

const holder = (name: string): Principal => ({ id: `token:${name}`, name, grants: {} });

/** Knows one token, and notes each that it is asked for. */
function openVerifier(token: string, asked: string[] = []): TokenVerifier {
  return {
    async find(given) {
      asked.push(given);
      return given === token ? holder(token) : undefined;
    },
  };
}

it.each([
  [undefined, undefined],
  ["Bearer abc", "abc"],
  ["bearer   a.b_c~d+e/f-g==  ", "a.b_c~d+e/f-g=="],
  ["Bearer", ""],
  ["Bearer ", ""],
  ["Bearer a b", ""],
  ["Bearer a=b", ""],
  ["Bearer é", ""],
  ["Basic abc", ""],
  ["xBearer abc", ""],
  ["", ""],
])("reads the token of %j: %j", (authorization, token) => {
  expect(bearerOf(authorization === undefined ? {} : { authorization })).toBe(token);
});

const asking = (headers: IncomingHttpHeaders): IncomingMessage => ({ headers }) as IncomingMessage;

describe("a caller", () => {
  it("is whom the first verifier names that knows the token", async () => {
    const asked: string[][] = [[], [], []];
    const verifiers = ["a", "b", "b"].map((token, at) => openVerifier(token, asked[at]));
    const authenticate = createAuthenticate({ verifiers, allowsLocal: false });
    expect(await authenticate(asking({ authorization: "Bearer b" }))).toEqual(holder("b"));
    expect(asked).toEqual([["b"], ["b"], []]);
    await expect(authenticate(asking({ authorization: "Bearer c" }))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    expect(asked.map((tokens) => tokens.at(-1))).toEqual(["c", "c", "c"]);
  });

  it("without a token is the local user where that is allowed, and with a wrong one never", async () => {
    const open = createAuthenticate({ verifiers: [], allowsLocal: true });
    expect(await open(asking({}))).toEqual({ ...LOCAL, isAnybody: true });
    await expect(open(asking({ authorization: "Basic x" }))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    await expect(createAuthenticate({ verifiers: [], allowsLocal: false })(asking({}))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });

  it("has a token that opens the surface: without a word on it, Belljar's own alone", async () => {
    const verifiers = [undefined, ["e2b"], ["belljar"], ["e2b", "belljar"]].map((surfaces, at) => ({
      find: async (token: string) => (token === String(at) ? { ...LOCAL, grants: surfaces ? { surfaces } : {} } : undefined),
    })) as readonly TokenVerifier[];
    const open = async (opens?: "e2b" | "belljar") =>
      Promise.all(
        [0, 1, 2, 3].map((token) =>
          createAuthenticate({ verifiers, allowsLocal: false, ...(opens && { opens }) })(asking({ authorization: `Bearer ${token}` })).then(
            () => "in",
            ({ code }: BelljarError) => code,
          ),
        ),
      );
    expect(await open()).toEqual(["in", "FORBIDDEN", "in", "in"]);
    expect(await open("belljar")).toEqual(await open());
    expect(await open("e2b")).toEqual(["FORBIDDEN", "in", "FORBIDDEN", "in"]);
  });

  it("is whom the request itself names, on a surface that reads no token", async () => {
    const identify = async ({ headers }: IncomingMessage) =>
      headers["x-id"] === "me" ? { ...LOCAL, grants: { surfaces: ["e2b"] as const } } : undefined;
    const open = createAuthenticate({ verifiers: [openVerifier("a", [])], allowsLocal: true, opens: "e2b", identify });
    expect(await open(asking({ "x-id": "me" }))).toMatchObject({ id: "local" });
    for (const headers of [{}, { authorization: "Bearer a" }])
      await expect(open(asking(headers))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
  });

  it("has a token of at most 8,192 characters, and nobody is asked for a longer or an empty one", async () => {
    const asked: string[] = [];
    const find = openVerifier("x".repeat(8_192), asked);
    const authenticate = createAuthenticate({ verifiers: [find], allowsLocal: false, tokenOf: (headers) => headers["x-key"] as string });
    expect(await authenticate(asking({ "x-key": "x".repeat(8_192) }))).toMatchObject({ id: expect.stringMatching(/^token:x/) as string });
    for (const key of ["x".repeat(8_193), ""])
      await expect(authenticate(asking({ "x-key": key }))).rejects.toMatchObject({ code: "UNAUTHORIZED" });
    expect(asked).toHaveLength(1);
  });
});
