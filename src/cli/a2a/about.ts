import { hasLogins, loginFile } from "./config-folder.js";
import type { Context, Run } from "./context.js";
import { settingRows, shownValue, variableOf } from "./settings.js";
import { singleLine } from "./text.js";

/** `config show`: prints each setting with its value and origin. Nothing is called. */
export const configShow: Run = async (context) => {
  const rows = rowsOf(context);
  if (context.out.mode.isJson) return context.out.json(rows);
  for (const { name, value, source, path } of rows) {
    const origin = path === undefined ? source : `${source} ${path}`;
    context.out.text(`${singleLine(`${name}: ${value ?? "none"} (source: ${origin})`)}\n`);
  }
};

/** Returns the settings as programs read them. */
function rowsOf({ resolved, io }: Context) {
  const rows = settingRows.map(([name, setting]) => {
    const { kind, path } = resolved.sources[name];
    const value = shownValue(setting, resolved.values[name]);
    const isHidden = setting.isSecret === true && kind !== "default";
    return {
      name: setting.flag.slice(2),
      envVar: variableOf(setting) ?? null,
      value: isHidden ? "[redacted]" : value === "" ? (setting.shown ?? null) : value,
      source: kind,
      ...(path !== undefined && { path }),
    };
  });
  const logins = loginFile(io);
  if (logins === undefined || !hasLogins(io)) return rows;
  return [...rows, { name: "logins", envVar: null, value: "see auth status", source: "global-file", path: logins }];
}

/** `version`: prints the version, and with JSON that of Node.js. */
export const version: Run = async ({ io, out }) => {
  out.result({ version: io.version, node: process.versions.node }, `${io.version}\n`);
};
