import { FLOOR, NEVER, compare } from "../harness.mjs";

/** A command in a sandbox that lives. */
export async function measure(home) {
  const { guest } = await home.create();
  const measured = async () => void (await guest.run({ argv: ["/bin/true"], signal: NEVER }));
  return [
    {
      what: "exec /bin/true in a live sandbox",
      goal: 0.8,
      beside: FLOOR.what,
      ...(await compare({ reference: FLOOR.run, measured, blocks: 10, each: 30, settleMs: 0 })),
    },
  ];
}
