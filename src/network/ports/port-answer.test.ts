import type { IncomingMessage } from "node:http";
import { expect, it } from "vitest";
import { BelljarError } from "../../errors.ts";
import type { OnPortFailure } from "./port-answer.ts";
import { toOwnAnswer, toPortFailure } from "./port-answer.ts";

const ask = (accept?: string) => ({ headers: accept === undefined ? {} : { accept } }) as IncomingMessage;
const toPortAnswer = (error: unknown, request: IncomingMessage, onFailure: OnPortFailure) =>
  toOwnAnswer(toPortFailure(error, onFailure), request);
const typeOf = ({ headers }: { readonly headers: readonly string[] }) => headers[headers.indexOf("Content-Type") + 1];

it("tells a client of an unforeseen error only the request's id", () => {
  const failures: unknown[] = [];
  const answer = toPortAnswer(new TypeError("a secret"), ask(), (error, id) => failures.push(String(error), id));
  expect(failures).toEqual(["TypeError: a secret", expect.any(String)]);
  expect(answer.status).toBe(500);
  const { error } = JSON.parse(answer.body) as { error: Record<string, unknown> };
  expect(error).toEqual({
    code: "INTERNAL",
    retryable: false,
    requestId: failures[1],
    message: expect.stringContaining("request id") as string,
  });
  expect(toPortAnswer(new BelljarError("INTERNAL", "a secret"), ask(), () => undefined).body).not.toContain("a secret");
});

it("shows a browser a page, and a program JSON", () => {
  const error = new BelljarError("SANDBOX_NOT_FOUND", `No sandbox "<a&b>"`);
  const page = toPortAnswer(error, ask("text/html,*/*"), () => undefined);
  expect(page).toMatchObject({ status: 404, body: expect.stringContaining("<p>No sandbox &quot;&lt;a&amp;b&gt;&quot;</p>") as string });
  expect(typeOf(page)).toBe("text/html; charset=utf-8");
  const json = toPortAnswer(error, ask(), () => undefined);
  expect(typeOf(json)).toBe("application/json");
  expect(JSON.parse(json.body)).toMatchObject({ error: { code: "SANDBOX_NOT_FOUND", message: `No sandbox "<a&b>"` } });
});

it.each([
  ["PORT_LINK_INVALID", "This link needs its token"],
  ["PORT_REFUSED", "Nothing answers on this port"],
  ["SANDBOX_ENDED", "The sandbox has ended"],
] as const)("heads the page of %s with words for people", (code, title) => {
  expect(toPortAnswer(new BelljarError(code, "text"), ask("text/html"), () => undefined).body).toContain(`<h1>${title}</h1>`);
});

it("lets no page run anything, and nobody keep it", () => {
  const { headers } = toPortAnswer(new BelljarError("PORT_REFUSED", "text"), ask("text/html"), () => undefined);
  expect(headers).toEqual(expect.arrayContaining(["Cache-Control", "no-store", "X-Content-Type-Options", "nosniff"]));
  expect(headers[headers.indexOf("Content-Security-Policy") + 1]).toBe("default-src 'none'; style-src 'unsafe-inline'");
});
