import { type ReactNode, useId, useState } from "react";
import { Button, css as ui } from "../ui/parts.js";
import css from "./agents.module.css";

/** A field of a login. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly hint?: string;
  readonly isSecret?: boolean;
  readonly isRequired?: boolean;
}

interface FormProps {
  readonly fields: readonly Field[];
  /** Initial values; never secrets. */
  readonly initial?: Readonly<Record<string, string>>;
  /** Text of the button. */
  readonly action: string;
  readonly onSubmit: (values: Readonly<Record<string, string>>) => void;
}

/** A form of texts, some of which are secret. Browsers are asked not to keep them. */
export function FieldsForm({ fields, initial = {}, action, onSubmit }: FormProps): ReactNode {
  const [values, setValues] = useState(initial);
  const id = useId();
  const isReady = fields.every(({ name, isRequired }) => isRequired !== true || (values[name] ?? "").trim() !== "");
  return (
    <form
      className={css.form}
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit(Object.fromEntries(fields.map(({ name }) => [name, (values[name] ?? "").trim()])));
      }}
    >
      {fields.map(({ name, label, hint, isSecret = false, isRequired = false }) => (
        <label key={name} className={ui.field}>
          <span>{label}</span>
          <input
            className={ui.input}
            type={isSecret ? "password" : "text"}
            autoComplete={isSecret ? "new-password" : "off"}
            spellCheck={false}
            required={isRequired}
            value={values[name] ?? ""}
            aria-describedby={hint === undefined ? undefined : `${id}-${name}`}
            onChange={({ target }) => setValues({ ...values, [name]: target.value })}
          />
          {hint !== undefined && (
            <small id={`${id}-${name}`} className={ui.soft}>
              {hint}
            </small>
          )}
        </label>
      ))}
      <div className={ui.row}>
        <Button kind="main" type="submit" disabled={!isReady}>
          {action}
        </Button>
      </div>
    </form>
  );
}
