CREATE TABLE IF NOT EXISTS projects (
    id text PRIMARY KEY,
    name text NOT NULL UNIQUE,
    tg_lead_group text,
    tg_api_key text,
    prompts jsonb,
    language text
);
CREATE TABLE IF NOT EXISTS bm25_indexes (
    project_id text PRIMARY KEY REFERENCES projects (id),
    vocab jsonb,
    idf jsonb,
    avg_dl double precision,
    num_docs integer,
    updated_at timestamptz
);
CREATE TABLE project_state (
    project_id text PRIMARY KEY REFERENCES projects (id),
    bot_url text,
    options jsonb,
    generation text,
    collection text,
    registered text,
    analyzer text,
    analyzer_version integer,
    k1 double precision,
    b double precision
);
