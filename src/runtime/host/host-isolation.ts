import type { Isolation } from "../contract/runtime.ts";

const NOTHING = "Belljar runs inside this machine and keeps nothing in it apart: whoever made the machine does";

/** What holds: nothing. Each line says so, for whoever reads one alone. */
export const HOST_ISOLATION: Isolation = {
  runtime: "host",
  available: true,
  checks: [
    { id: "isolation", state: "absent", detail: NOTHING },
    {
      id: "user-namespace",
      state: "absent",
      detail: "Commands run as the user of the server, and reach all that it reaches, its own files too",
    },
    { id: "network", state: "absent", detail: "The network is the machine's: no policy of Belljar's holds" },
    { id: "memory-limit", state: "absent", detail: "No limit of Belljar's holds: the machine's own do" },
  ],
  limits: [],
  users: "one",
  terminals: true,
  pause: false,
  sleep: false,
  stop: false,
  states: "none",
};
