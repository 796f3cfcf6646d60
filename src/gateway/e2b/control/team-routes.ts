import * as z from "zod";
import { DOOR } from "../../auth/access.ts";
import type { Route } from "../../routes/route.ts";
import { defineRoute } from "../../routes/route.ts";
import { teamOf } from "./team.ts";

const SHOWN = 8;

const teamSchema = z.object({
  teamID: z.string(),
  name: z.string(),
  apiKey: z.string().describe("The beginning of the key that asks: none is given back"),
  isDefault: z.boolean(),
});

export function teamRoutes(): readonly Route[] {
  return [
    defineRoute({
      method: "GET",
      path: "/teams",
      access: DOOR,
      summary: "The one team of the key's owner",
      answers: { 200: z.array(teamSchema).readonly() },
      async handle({ caller, request }) {
        const { id, slug } = teamOf(caller);
        const key = request.headers["x-api-key"];
        return [{ teamID: id, name: slug, apiKey: `${String(key).slice(0, SHOWN)}...`, isDefault: true }];
      },
    }),
  ];
}
