import type { Durability } from "./address.js";
import { type Database, first } from "./database.js";

/** The durability that the present settings of PostgreSQL promise. */
export interface StoreDurability {
  readonly level: Durability;
  /** One sentence for people, with the settings that decide. */
  readonly text: string;
}

/** Reads the settings that decide about an acknowledged append. */
export async function readDurability(database: Database): Promise<StoreDurability> {
  const row = await first(
    database.query<[string, string, string, string]>(
      "SELECT current_setting('fsync'), current_setting('full_page_writes'), current_setting('synchronous_commit'), " +
        "current_setting('synchronous_standby_names')",
    ),
  );
  const [fsync = "off", pages = "off", commit = "off", standbys = ""] = row ?? [];
  if (fsync !== "on" || pages !== "on" || commit === "off") {
    const settings = `fsync=${fsync}, full_page_writes=${pages}, synchronous_commit=${commit}`;
    return { level: "none", text: `A crash may lose the last appends (${settings}).` };
  }
  if (standbys === "" || commit === "local") {
    const settings = `synchronous_commit=${commit}, synchronous_standby_names='${standbys}'`;
    const text = `An append survives a crash of the machine; a failover may lose the last seconds (${settings}).`;
    return { level: "local", text };
  }
  const settings = `synchronous_commit=${commit}, synchronous_standby_names='${standbys}'`;
  return { level: "replicated", text: `An append survives the loss of one machine (${settings}).` };
}
