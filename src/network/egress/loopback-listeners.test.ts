import { createServer } from "node:net";
import { expect, it } from "vitest";
import { openEgressLab, openOrigin, readUntil } from "../../../test/support/egress-lab.ts";

it("opens the host's ports that a rule names on the same address inside, and closes them with the rule", async () => {
  await using origin = await openOrigin(createServer((socket) => socket.end("from the host")));
  const rule = `127.0.0.1:${origin.port}`;
  await using lab = await openEgressLab({ policy: { allow: [rule, "127.0.0.1:3128", "10.0.0.1:80"] } });
  expect(lab.inside.listening()).toEqual(["127.0.0.1:1080", rule, "127.0.0.1:3128", "127.0.0.1:53"].toSorted());
  const client = await lab.inside.dial({ address: "127.0.0.1", port: origin.port });
  expect(await readUntil(client, "host")).toBe("from the host");
  client.end();
  expect(await lab.recorded((row) => row.verdict === "allowed")).toMatchObject({ via: "transparent", host: "127.0.0.1", rule });
  lab.update({ policy: { allow: ["localhost:81"] } });
  await lab.service.ready;
  expect(lab.inside.listening()).toEqual(["127.0.0.1:1080", "127.0.0.1:3128", "127.0.0.1:53", "127.0.0.1:81"]);
});
