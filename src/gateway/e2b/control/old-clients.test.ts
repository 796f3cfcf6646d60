import { expect, it } from "vitest";
import { createOldClients } from "./old-clients.ts";

it("tells of each release that is older than those that are tried, once and not without end", () => {
  const told: unknown[] = [];
  const note = createOldClients({ warn: ({ client }) => told.push(client) });
  const clients = [
    "e2b-js-sdk/2.11.9",
    "e2b-js-sdk/2.11.9",
    "e2b-python-sdk/1.13.2",
    "e2b-js-sdk/2.12.0",
    "e2b-js-sdk/3.0.1",
    "curl/8.1.0",
    undefined,
  ];
  for (const client of clients) note(client);
  expect(told).toEqual(["e2b-js-sdk/2.11.9", "e2b-python-sdk/1.13.2"]);
  for (let patch = 0; patch < 100; patch += 1) note(`e2b-js-sdk/1.0.${patch}`);
  expect(told).toHaveLength(32);
});
