import * as z from "zod";
import { anyPath, flag, integer, time } from "./config-fields.ts";
import { DAY_MS } from "./units.ts";

/** Other programs have the same variables in mind: they are checked by whoever uses them. */
function databaseSchema() {
  const text = () => z.string().min(1).max(4_000).optional();
  return z
    .strictObject({
      url: text().describe(
        "PostgreSQL database that users' tools are stored in, postgres://USER:PASSWORD@HOST:PORT/NAME. Without it, and without a host, they are in files of the home",
      ),
      host: text().describe("The same in parts, as MCP Box has it: its host, or the folder of its socket"),
      port: z.preprocess((port) => (typeof port === "number" ? String(port) : port), text()).describe("Its port. Default: 5432"),
      name: text().describe("Name of the database"),
      user: text().describe("Who connects. Default: the user of the process"),
      password: text().describe("The password for that"),
    })
    .prefault({});
}

/** Users' tools. */
export function toolsSchema() {
  return z
    .strictObject({
      database: databaseSchema(),
      storeInFile: flag().default(false).describe("Users' tools are stored in files of the home, also where a database is named"),
      directory: anyPath().describe("Folder with tools of the local user, which is read as it is and whenever it changes"),
      agentPublish: flag()
        .default(false)
        .describe(
          "Tools that an agent publishes go live without asking the person. Default false: it is asked, or refused where it cannot be",
        ),
      listMax: integer(0, 1000).default(40).describe("Maximum number of users' tools in a caller's list. The others are found by a search"),
      indexUrl: z
        .string()
        .min(1)
        .max(2_000)
        .optional()
        .describe(
          "Where Python packages of users' tools and of MCP servers come from: the address of an index, or a folder of wheels. Default: PyPI",
        ),
      registryUrl: z
        .string()
        .min(1)
        .max(2_000)
        .optional()
        .describe("Address of the registry that npm packages of users' tools and of MCP servers come from. Default: npm's own"),
      timeoutMs: time(1, DAY_MS).default(50_000).describe("Maximum run time of a call of a user's tool that names none"),
    })
    .prefault({});
}
