import { MIB, NEVER, compare, spawnPlain } from "../harness.mjs";

const ARGS = ["-c", String(MIB), "/dev/zero"];

/** 1 MiB that a command prints. */
export async function measure(home) {
  const { guest } = await home.create();
  const measured = async () => {
    const { stdout } = await guest.run({ argv: ["/usr/bin/head", ...ARGS], maxOutputBytes: 2 * MIB, signal: NEVER });
    if (stdout.length !== MIB) throw new Error(`${stdout.length} bytes came`);
  };
  const reference = () => spawnPlain("/usr/bin/head", ARGS, { stdout: "pipe" });
  return [
    { what: "1 MiB through stdout", beside: "spawn of the same", ...(await compare({ reference, measured, blocks: 8, settleMs: 0 })) },
  ];
}
