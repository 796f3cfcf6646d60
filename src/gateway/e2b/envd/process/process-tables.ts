import { BelljarError } from "../../../../errors.ts";
import type { Sandbox } from "../../../../sandbox/sandbox.ts";
import { ProcessTable } from "./process-table.ts";

/** The processes of E2B's clients, sandbox by sandbox. */
export interface ProcessTables {
  of(sandbox: Sandbox): ProcessTable;
  /** Tells all who listen to connect again. The processes go on. */
  close(): void;
}

/** A table goes with the run of its sandbox. */
export function createProcessTables(): ProcessTables {
  const tables = new Map<string, ProcessTable>();
  return {
    of(sandbox) {
      const key = `${sandbox.id}.${sandbox.generation}`;
      const known = tables.get(key);
      if (known) return known;
      const table = new ProcessTable(sandbox.guest);
      tables.set(key, table);
      void sandbox.ended?.then(() => tables.delete(key));
      return table;
    },
    close() {
      for (const table of tables.values())
        table.close(new BelljarError("SERVER_BUSY", "The server is going; connect to the process again"));
      tables.clear();
    },
  };
}
