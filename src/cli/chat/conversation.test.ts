import { expect, it } from "vitest";
import { Conversation } from "./conversation.ts";

const assistant = (text: string) => ({ role: "assistant" as const, text, calls: [] });

it("leaves out the oldest turns, each as a whole", () => {
  const conversation = new Conversation(400);
  for (const text of ["one", "two", "three"]) {
    conversation.add({ role: "user", text: text.padEnd(80, ".") });
    conversation.add(assistant(text.padEnd(80, "-")));
  }
  expect(conversation.messages).toHaveLength(2);
  expect(conversation.messages[0]).toMatchObject({ role: "user", text: expect.stringMatching(/^three/) as string });
});

it("keeps the results of a turn that is too long alone, without the oldest texts", () => {
  const conversation = new Conversation(1300);
  conversation.add({ role: "user", text: "go" });
  for (const id of ["a", "b", "c"]) {
    conversation.add({ role: "assistant", text: "", calls: [{ id, name: "t", argumentsText: "{}" }] });
    conversation.add({ role: "tool", results: [{ id, text: id.repeat(300), isError: false }] });
  }
  const results = conversation.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  expect(results.map(({ id }) => id)).toEqual(["a", "b", "c"]);
  expect(results.map(({ text }) => text.slice(0, 9))).toEqual(["[left out", "bbbbbbbbb", "ccccccccc"]);
});

it("takes back only what was not answered, and no message that fills it alone", () => {
  const conversation = new Conversation(400);
  conversation.add({ role: "user", text: "one" });
  conversation.add(assistant("1"));
  conversation.add({ role: "user", text: "two" });
  conversation.takeBack();
  conversation.takeBack();
  expect(conversation.messages).toHaveLength(2);
  expect(() => conversation.add({ role: "user", text: "x".repeat(201) })).toThrow(/at most 200/);
});
