import type { SecurityScheme } from "./scheme.js";

type Schemes = Readonly<Record<string, SecurityScheme>>;

/**
 * Finds schemes that may give one name to two callers, who would share their tasks: each takes names that somebody else gives (an
 * issuer, an authority), or lists a name that such a one may give. Faults, as sentences that begin with the place.
 */
export function sharedNameFaults(schemes: Schemes): string[] {
  const all = Object.entries(schemes);
  const namespaces = new Set(all.flatMap(([, scheme]) => scheme.names?.issuer ?? []));
  if (namespaces.size > 1) {
    return [
      `security.schemes has names of several issuers (${[...namespaces].join(", ")}), who may give one name to two subjects: say by owner how they are told apart`,
    ];
  }
  return all.flatMap(([name, scheme]) => {
    const { issuer, mayGive = () => true } = scheme.names ?? {};
    if (issuer === undefined) return [];
    return all.flatMap(([other, listing]) => {
      const taken = listing.names?.listed?.find(mayGive);
      if (taken === undefined) return [];
      return `security.schemes.${name}: ${issuer} may give a subject the name ${JSON.stringify(taken)}, which is an owner of ${other}: say by owner of ${name} how they are told apart`;
    });
  });
}

/** Names that two schemes list: one owner, which may be what their author wants. */
export function sharedNameWarnings(schemes: Schemes): string[] {
  const all = Object.entries(schemes).map(([name, { names }]) => [name, new Set(names?.listed)] as const);
  return all.flatMap(([name, owners], i) =>
    all.slice(i + 1).flatMap(([other, others]) => {
      const shared = [...owners].filter((owner) => others.has(owner));
      if (shared.length === 0) return [];
      const more = shared.length > 1 ? ` and ${shared.length - 1} more` : "";
      return `the schemes ${name} and ${other} both have the owner ${JSON.stringify(shared[0])}${more}: the credentials of either give access to the same tasks`;
    }),
  );
}
