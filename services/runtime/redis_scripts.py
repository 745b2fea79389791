"""The ledger's Lua scripts. KEYS[1] is the prefix of all keys."""

__all__ = ["SCRIPTS"]

# ARGV: generation, token, epoch of the commits, their number, ordinals to commit..., epoch of the claims, ordinals...
_STEP = """
local prefix, generation, token = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local current = tonumber(redis.call('HGET', prefix .. ':meta', 'generation') or '0')
if generation ~= current then return {'stale', current} end

local commit_epoch, commits = ARGV[3], tonumber(ARGV[4])
local committed, claims = prefix .. ':committed:' .. commit_epoch, prefix .. ':claims:' .. commit_epoch
local unclaimed = {'unclaimed'}
for i = 5, 4 + commits do
  if redis.call('HEXISTS', claims, ARGV[i]) == 0 and redis.call('GETBIT', committed, ARGV[i]) == 0 then
    table.insert(unclaimed, ARGV[i])
  end
end
if #unclaimed > 1 then return unclaimed end
for i = 5, 4 + commits do
  redis.call('SETBIT', committed, ARGV[i], 1)
  redis.call('HDEL', claims, ARGV[i])
end
if commits > 0 then redis.call('SADD', prefix .. ':epochs', commit_epoch) end

local epoch = ARGV[5 + commits]
local rejected = prefix .. ':rejected:' .. epoch
committed, claims = prefix .. ':committed:' .. epoch, prefix .. ':claims:' .. epoch
local answers, seen, refused = {'ok'}, {}, 0
for i = 6 + commits, #ARGV do
  local ordinal, granted = ARGV[i], 0
  if not seen[ordinal] then
    local holder = redis.call('HGET', claims, ordinal)
    if holder then
      if holder == token then granted = 1 end
    elseif redis.call('GETBIT', committed, ordinal) == 0 and redis.call('GETBIT', rejected, ordinal) == 0 then
      redis.call('HSET', claims, ordinal, token)
      granted = 1
    end
  end
  seen[ordinal] = true
  refused = refused + 1 - granted
  table.insert(answers, granted)
end
if refused > 0 then redis.call('HINCRBY', prefix .. ':events', 'refused:' .. epoch, refused) end
return answers
"""

# ARGV: epoch, ordinal, reason as JSON, reasons to keep
_REJECT = """
local prefix, epoch, ordinal = KEYS[1], ARGV[1], ARGV[2]
if redis.call('GETBIT', prefix .. ':committed:' .. epoch, ordinal) == 1 then return 0 end
if redis.call('HEXISTS', prefix .. ':claims:' .. epoch, ordinal) == 1 then return 0 end
if redis.call('SETBIT', prefix .. ':rejected:' .. epoch, ordinal, 1) == 0 then
  redis.call('SADD', prefix .. ':epochs', epoch)
  if redis.call('HLEN', prefix .. ':reasons') < tonumber(ARGV[4]) then
    redis.call('HSET', prefix .. ':reasons', epoch .. ':' .. ordinal, ARGV[3])
  end
end
return 1
"""

# ARGV: epoch
_PROGRESS = """
local prefix, epoch = KEYS[1], ARGV[1]
return {redis.call('HLEN', prefix .. ':claims:' .. epoch),
        redis.call('BITCOUNT', prefix .. ':committed:' .. epoch),
        redis.call('BITCOUNT', prefix .. ':rejected:' .. epoch)}
"""

# ARGV: epoch
_BITMAPS = """
local prefix, epoch = KEYS[1], ARGV[1]
return {redis.call('GET', prefix .. ':committed:' .. epoch) or '',
        redis.call('GET', prefix .. ':rejected:' .. epoch) or ''}
"""

_SNAPSHOT = """
local prefix, bitmaps = KEYS[1], {}
for _, epoch in ipairs(redis.call('SMEMBERS', prefix .. ':epochs')) do
  table.insert(bitmaps, epoch)
  table.insert(bitmaps, redis.call('GET', prefix .. ':committed:' .. epoch) or '')
  table.insert(bitmaps, redis.call('GET', prefix .. ':rejected:' .. epoch) or '')
end
return {bitmaps, redis.call('HGETALL', prefix .. ':reasons')}
"""

# ARGV: generation, token, length of the next list, (epoch, committed, rejected)..., (name, reason)...
_RESTORE = """
local prefix, generation, token = KEYS[1], tonumber(ARGV[1]), ARGV[2]
local current = tonumber(redis.call('HGET', prefix .. ':meta', 'generation') or '0')
local again = generation == current and redis.call('HGET', prefix .. ':meta', 'restored_by') == token
if again then return {1, current} end
if generation <= current then return {0, current} end

for _, key in ipairs(redis.call('KEYS', prefix .. ':*')) do
  if key ~= prefix .. ':events' then redis.call('DEL', key) end
end
redis.call('HSET', prefix .. ':meta', 'generation', generation, 'restored_by', token)
local bitmaps = tonumber(ARGV[3])
for i = 4, 3 + bitmaps, 3 do
  redis.call('SADD', prefix .. ':epochs', ARGV[i])
  redis.call('SET', prefix .. ':committed:' .. ARGV[i], ARGV[i + 1])
  redis.call('SET', prefix .. ':rejected:' .. ARGV[i], ARGV[i + 2])
end
for i = 4 + bitmaps, #ARGV, 2 do redis.call('HSET', prefix .. ':reasons', ARGV[i], ARGV[i + 1]) end
return {1, generation}
"""

SCRIPTS = {
    "bitmaps": _BITMAPS,
    "progress": _PROGRESS,
    "reject": _REJECT,
    "restore": _RESTORE,
    "snapshot": _SNAPSHOT,
    "step": _STEP,
}
