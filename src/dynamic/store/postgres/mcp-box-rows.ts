import type { LeftTool, LeftTools } from "../../take-over.ts";
import { CODE_BYTES_MAX } from "../stored-unit.ts";
import type { Database } from "./database.ts";

/** The row after the one of `$1` that is not noted. */
const NEXT = `
  SELECT box.id::text AS source, box.mcp_tool_name AS name,
         CASE WHEN octet_length(box.mcp_tool_code) BETWEEN 1 AND $2 THEN box.mcp_tool_code END AS code
  FROM agents_mcp_box AS box
  WHERE ($1::text IS NULL OR box.id::text > $1) AND NOT EXISTS (SELECT FROM belljar_taken_over AS taken WHERE taken.source = box.id::text)
  ORDER BY box.id::text LIMIT 1`;

interface Row {
  readonly source: string;
  readonly name: string | null;
  readonly code: string | null;
}

/** The rows of MCP Box's table `agents_mcp_box`, if the database has one. The table is only read. */
export class McpBoxRows implements LeftTools {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async each(take: (tool: LeftTool) => Promise<string | undefined>, signal: AbortSignal): Promise<void> {
    const [found] = await this.#database.query<{ readonly there: boolean }>("SELECT to_regclass('agents_mcp_box') IS NOT NULL AS there");
    if (found?.there) await this.#alone(() => this.#takeAll(take, signal));
  }

  async #takeAll(take: (tool: LeftTool) => Promise<string | undefined>, signal: AbortSignal): Promise<void> {
    let last: string | null = null;
    while (!signal.aborted) {
      const [row]: readonly Row[] = await this.#database.query<Row>(NEXT, [last, CODE_BYTES_MAX]);
      if (!row) return;
      last = row.source;
      const outcome = await take(toTool(row));
      const note = "INSERT INTO belljar_taken_over (source, outcome) VALUES ($1, $2) ON CONFLICT DO NOTHING";
      if (outcome !== undefined) await this.#database.query(note, [row.source, outcome]);
    }
  }

  /** Does the work unless another process does it. The lock goes with its connection, also if this process is killed. */
  async #alone(work: () => Promise<void>): Promise<void> {
    const client = this.#database.newConnection();
    // Without the lock another process may do the same work: of two that add a tool one is refused.
    client.on("error", () => undefined);
    try {
      await client.connect();
      const { rows } = await client.query<{ got: boolean }>(
        "SELECT pg_try_advisory_lock(hashtextextended('belljar_taken_over', 0)) AS got",
      );
      if (rows[0]?.got) await work();
    } finally {
      client.connection.stream.destroy();
    }
  }
}

function toTool({ source, name, code }: Row): LeftTool {
  return { source, ...(name !== null && { name }), ...(code !== null && { code }) };
}
