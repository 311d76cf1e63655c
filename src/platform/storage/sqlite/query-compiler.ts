import { SqliteQueryCompiler } from 'kysely';

/**
 * Writes parameters as `+?`, which means the same and keeps their values out of the choice of a plan. SQLite
 * prepares a statement again for each new value of a bare `?` in a join or a limit, which costs more than
 * running it.
 */
export class StablePlanCompiler extends SqliteQueryCompiler {
  protected override getCurrentParameterPlaceholder(): string {
    return `+${super.getCurrentParameterPlaceholder()}`;
  }
}
