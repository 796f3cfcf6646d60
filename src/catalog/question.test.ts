import { expect, it } from "vitest";
import * as z from "zod";
import { askThrough, type CallClient, type ClientAnswer, type ClientQuestion, unreachable } from "./question.ts";
import { zodSchema } from "./tool-schema.ts";

const { signal } = new AbortController();
const form = zodSchema(z.strictObject({ name: z.string(), times: z.int().optional() }));

/** What comes of a question that the client answers so, and what the client was asked. */
async function ask(answer: ClientAnswer) {
  const asked: (ClientQuestion | AbortSignal)[] = [];
  const client: CallClient = { ask: async (question, one) => (asked.push(question, one), answer) };
  return { answer: await askThrough(client, { message: "Who?", form }, signal), asked };
}

it("shows the person the message and the form, and gives the checked answer", async () => {
  const { answer, asked } = await ask({ action: "accept", content: { name: "Ada", times: "2" } });
  expect(answer).toEqual({ accepted: true, form: { name: "Ada", times: 2 } });
  expect(asked).toEqual([{ message: "Who?", schema: form.schema }, signal]);
});

it("tells a person who said no from one who chose nothing", async () => {
  expect((await ask({ action: "decline" })).answer).toEqual({ accepted: false, reason: "declined" });
  expect((await ask({ action: "cancel" })).answer).toEqual({ accepted: false, reason: "cancelled" });
});

it("refuses an answer that does not fit the form, and names five of its faults", async () => {
  const fields = Object.fromEntries(["a", "b", "c", "d", "e", "f"].map((name) => [name, z.string()]));
  const client: CallClient = { ask: async () => ({ action: "accept", content: {} }) };
  const refused = askThrough(client, { message: "", form: zodSchema(z.object(fields)) }, signal);
  const faults = ["a", "b", "c", "d", "e"].map((name) => `${name}: missing; expected string`).join("; ");
  await expect(refused).rejects.toMatchObject({ code: "ARGUMENTS_INVALID", message: `The answer is not as it was asked for: ${faults}` });
});

it("says that nobody can be asked where the call has no client", async () => {
  await expect(askThrough(undefined, { message: "", form }, signal)).rejects.toMatchObject({ code: "PERSON_UNREACHABLE" });
  const cause = new Error("gone");
  expect(unreachable(cause)).toMatchObject({ code: "PERSON_UNREACHABLE", cause });
});
