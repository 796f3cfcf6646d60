import type { Transport } from "@modelcontextprotocol/client";

/** MCP with a program on its standard streams, wherever it runs. `stderr` and `pid` tell the SDK that this is stdio. */
export interface ProgramTransport extends Transport {
  readonly stderr: null;
  readonly pid: number | null;
  /** The last lines of the program's stderr. */
  lastLines(): readonly string[];
  /** How the program ended, if it did. */
  ending(): string | undefined;
}
